#include "revet/plugin.hpp"

#include "openmp.hpp"
#include "revet/abi.hpp"

namespace {

void register_openmp(revet::Registry& registry) { registry.add_backend(revet::openmp::backend()); }

}  // namespace

REVET_PLUGIN("revet-backend-openmp", "OpenMP C++ for CPUs", register_openmp)
