// reference DEPLOY: writes the generated parts of the reference pages, and the JSON Schemas, below the folder
// deploy/ of a source tree.
#include <iostream>

#include "base/fs.h"
#include "reference/files.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: reference DEPLOY, the folder deploy/ of the source tree\n";
    return 2;
  }
  auto files = prefetch::reference::Files(argv[1]);
  if (!files) {
    std::cerr << "reference: " << files.error().message() << "\n";
    return 2;
  }
  for (const prefetch::reference::File& file : *files) {
    const std::string path = std::string(argv[1]) + "/" + file.path;
    if (auto written = prefetch::base::WriteFileAtomically(path, file.text); !written) {
      std::cerr << "reference: " << written.error().message() << "\n";
      return 2;
    }
  }
  return 0;
}
