// write_pages FOLDER: pages for a browser, by name.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>

#include "screen/report/fleets.h"
#include "screen/report/report.h"

int main(int argc, char** argv) {
  using namespace prefetch::screen::report;  // NOLINT: a program of one page
  if (argc != 2) {
    std::cerr << "usage: write_pages FOLDER\n";
    return 2;
  }
  const std::map<std::string, Report> reports = {
      {"small", SmallFleet()},
      {"hostile", HostileFleet()},
      {"public", PublicFleet()},
      {"node", OneNode()},
      {"ready", AllReady()},
      {"empty", ReportOf({})},
      {"large", LargeFleet(1000, 200, 1)},
      {"worst", LargeFleet(1000, 200, 500)},
  };
  for (const auto& [name, report] : reports) {
    std::ofstream(std::filesystem::path(argv[1]) / (name + ".html"), std::ios::binary)
        << Page(report, prefetch::sample::At(60));
  }
  return 0;
}
