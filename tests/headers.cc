// The one file of the library that parses the large headers of the tests (tests/CMakeLists.txt).
