// prefetchctl without its main function, which alone needs none of CLI11's headers.
#pragma once

namespace prefetch::ctl {

// Runs the command of this command line, once a process. Returns the exit code.
int RunProgram(int argc, char** argv);

}  // namespace prefetch::ctl
