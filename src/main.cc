#include "cli/run.h"

int main(int argc, char** argv) { return headwater::run(argc, argv); }
