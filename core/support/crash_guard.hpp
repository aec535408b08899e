/// Turns a crash inside a plugin (a bad access, a failed assertion) into something that can be
/// reported, once, before the process ends.
#pragma once

#include <functional>
#include <string>

namespace revet {

/// Runs `work`. 0 if it came back, by returning or by an exception, which goes on; otherwise the
/// number of the signal that it raised. After a signal the heap may be damaged and nothing on the
/// stack of `work` was destroyed: report and exit. Not for nesting. Without effect under
/// sanitizers, which report crashes themselves.
int run_guarded(const std::function<void()>& work);
/// Call where the process goes on after all: the time to report in is no longer limited.
void crash_was_reported();

/// Runs code of a plugin. What it throws, other than Error and InternalError, and a crash become an
/// InternalError that begins with `who`.
void run_blaming(const std::function<std::string()>& who, const std::function<void()>& work);

}  // namespace revet
