#pragma once

namespace headlight::cli {

// Makes SIGINT (Ctrl-C), SIGTERM and SIGHUP end the program as usual, but without its unfinished
// files. A second signal ends it at once. Signals that are ignored, as under nohup, stay ignored.
void clean_up_on_signals();

// Signal handler that ends the program in this way.
extern "C" void end_by_signal(int signal);

}  // namespace headlight::cli
