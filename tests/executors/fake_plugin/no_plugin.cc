// A shared library that is no plugin: it has no GetPjrtApi.
extern "C" int answer() { return 42; }
