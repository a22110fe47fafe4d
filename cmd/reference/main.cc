// reference DEPLOY: writes the reference pages and the JSON Schemas below the folder deploy/ of a source
// tree.
#include <fstream>
#include <iostream>

#include "reference/files.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: reference DEPLOY, the folder deploy/ of the source tree\n";
    return 2;
  }
  for (const prefetch::reference::File& file : prefetch::reference::Files()) {
    const std::string path = std::string(argv[1]) + "/" + file.path;
    std::ofstream out(path, std::ios::binary);
    out << file.text << std::flush;
    if (!out) {
      std::cerr << "reference: cannot write " << path << "\n";
      return 2;
    }
  }
  return 0;
}
