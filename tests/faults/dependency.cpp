/// What a plugin needs besides librevet.
extern "C" __attribute__((visibility("default"))) int fault_dependency() { return 1; }
