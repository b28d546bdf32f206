#pragma once

namespace headlight::cli {

// Makes idle threads of OpenMP sleep soon. By default they spin for milliseconds, which costs a
// machine whose cores are shared most of its speed. OpenMP reads its environment before main(), so
// the program starts itself anew once; what the user has set is respected.
void limit_idle_spinning(char** argv);

}  // namespace headlight::cli
