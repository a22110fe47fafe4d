#include "agent/gc_outlook.h"

#include <set>
#include <string>
#include <unordered_map>

namespace prefetch::agent {

void AddGcOutlook(plan::Snapshot& snapshot) {
  if (!snapshot.kubelet || !snapshot.kubelet->gc) return;
  std::vector<kubelet::GcImage> images;
  std::set<std::string> seen;  // several names may be one image
  for (const plan::ImageState& state : snapshot.images) {
    if (!state.present || !seen.insert(state.image_id).second) continue;
    kubelet::GcImage image{.id = state.image_id, .size_bytes = state.size_bytes, .pinned = state.pinned};
    // Images that the agent did not pull are older than all that it pulled.
    image.first_seen_age =
        state.pull.finished_at ? snapshot.time - *state.pull.finished_at : snapshot.time.time_since_epoch();
    images.push_back(std::move(image));
  }
  kubelet::ImageDisk disk;
  if (snapshot.disk.known) {
    disk = {.capacity_bytes = snapshot.disk.capacity_bytes, .available_bytes = snapshot.disk.available_bytes};
  }
  kubelet::GcForecast forecast = kubelet::ForecastGc(*snapshot.kubelet->gc, disk, images);
  if (forecast.space || !forecast.by_age.empty()) {
    std::unordered_map<std::string, std::size_t> order;
    for (const std::string& id : forecast.order) order.emplace(id, order.size() + 1);
    for (plan::ImageState& state : snapshot.images) {
      if (auto at = order.find(state.image_id); state.present && at != order.end())
        state.gc_order = at->second;
    }
  }
  snapshot.kubelet->gc_warnings = std::move(forecast.warnings);
}

}  // namespace prefetch::agent
