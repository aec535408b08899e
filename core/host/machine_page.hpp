#pragma once

#include <string>

namespace revet::host {

/// Tables of the keys of machine files and of the machines that ship, as Markdown.
std::string machine_page();

}  // namespace revet::host
