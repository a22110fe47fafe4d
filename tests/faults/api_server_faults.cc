#include "faults/kinds.h"

#include <limits>

namespace prefetch::tests::faults {
namespace {

// Each request is answered so.
FaultKind AnsweredWith(const char* manner, int status, const char* retry_after = "",
                       std::set<Reason> causes = {}) {
  return {.part = "API server",
          .manner = manner,
          .begin =
              [status, retry_after](World& world, const std::string&) {
                world.node.Cluster().server.Fail(
                    {.status = status, .retry_after = retry_after, .times = std::numeric_limits<int>::max()});
              },
          .end = [](World& world, const std::string&) { world.node.Cluster().server.Recover(); },
          .causes = std::move(causes),
          .of_cluster = true};
}

}  // namespace

std::vector<FaultKind> OfApiServer() {
  return {
      {.part = "API server",
       .manner = "is absent",
       .begin = [](World& world, const std::string&) { world.node.Cluster().server.GoAway(); },
       .end = [](World& world, const std::string&) { world.node.Cluster().server.ComeBack(); },
       .of_cluster = true},
      {.part = "API server",
       .manner = "comes and goes",
       .begin = [](World& world, const std::string&) { world.node.Cluster().server.GoAway(); },
       .end = [](World& world, const std::string&) { world.node.Cluster().server.ComeBack(); },
       .period = seconds(3),
       .tick = [](World& world, const std::string&) { world.FlapApiServer(); },
       .of_cluster = true},
      AnsweredWith("503 to all", 503),
      AnsweredWith("429 to all", 429, "20"),
      AnsweredWith("403 to all", 403, "", {Reason::kTouchIneffective}),
  };
}

}  // namespace prefetch::tests::faults
