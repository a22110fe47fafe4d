#include <algorithm>
#include <sstream>

#include "sim/fleet.h"

namespace prefetch::sim {
namespace {

constexpr int kWidth = 960;
constexpr int kHeight = 320;
constexpr int kLeft = 70;
constexpr int kBottom = 40;

}  // namespace

std::string LoadCurve(const std::vector<Second>& load, double allowed, const std::string& title) {
  double most = allowed;
  for (const Second& second : load) most = std::max(most, static_cast<double>(second.requests));
  most = std::max(most, 1.0);
  double plot_width = kWidth - kLeft - 10;
  double plot_height = kHeight - kBottom - 30;
  auto y = [&](double requests) { return 30 + plot_height * (1 - requests / most); };
  // One column a pixel: the highest second of those that it stands for.
  std::size_t per_pixel = load.size() / static_cast<std::size_t>(plot_width) + 1;
  std::ostringstream svg;
  svg << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << kWidth << "\" height=\"" << kHeight
      << "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
         "fill=\"white\"/>\n"
      << "<text x=\"" << kLeft << "\" y=\"18\">" << title
      << "</text>\n<polyline fill=\"none\" stroke=\"#1f5fa8\" points=\"";
  for (std::size_t i = 0; i < load.size(); i += per_pixel) {
    std::uint32_t peak = 0;
    for (std::size_t k = i; k < std::min(load.size(), i + per_pixel); k++)
      peak = std::max(peak, load[k].requests);
    svg << kLeft + static_cast<double>(i) / static_cast<double>(per_pixel) << "," << y(peak) << " ";
  }
  svg << "\"/>\n";
  if (allowed > 0) {
    svg << "<line x1=\"" << kLeft << "\" x2=\"" << kWidth - 10 << "\" y1=\"" << y(allowed) << "\" y2=\""
        << y(allowed) << "\" stroke=\"#c03020\" stroke-dasharray=\"4\"/>\n<text x=\"" << kWidth - 150
        << "\" y=\"" << y(allowed) - 4 << "\" fill=\"#c03020\">allowed: " << allowed << "/s</text>\n";
  }
  svg << "<text x=\"5\" y=\"" << y(most) + 4 << "\">" << most << "/s</text>\n<text x=\"5\" y=\"" << y(0)
      << "\">0</text>\n";
  for (std::size_t hour = 0; hour * 3600 <= load.size(); hour++) {
    svg << "<text x=\"" << kLeft + static_cast<double>(hour * 3600) / static_cast<double>(per_pixel)
        << "\" y=\"" << kHeight - 15 << "\">" << hour << " h</text>\n";
  }
  svg << "</svg>\n";
  return svg.str();
}

}  // namespace prefetch::sim
