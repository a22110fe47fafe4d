#include "status/json_parts.h"

#include <algorithm>
#include <cmath>

#include "plan/freshness.h"

namespace prefetch::status {
namespace {

// How long ago, in whole seconds; null if it never was. A time of day that was set back makes it nothing.
void MemberSince(doc::JsonWriter& out, std::string_view name, const std::optional<base::WallTime>& since,
                 base::WallTime time) {
  if (!since) {
    out.MemberNull(name);
    return;
  }
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time - *since).count();
  out.MemberNumber(name, static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 0)));
}

std::string_view WhyNotAsked(const plan::ImageState& image) {
  if (!image.applies) return "not asked: the entry is for other platforms";
  if (plan::AsksRegistry(image.want)) return "not asked: this agent asks no registry (--registry none)";
  if (image.want->reference.has_digest()) return "not asked: a digest always names the same content";
  return "not asked: refresh is IfNotPresent and readyFor is not Always";
}

}  // namespace

void WriteImageRegistry(doc::JsonWriter& out, const plan::ImageState& image, base::WallTime time) {
  if (!image.registry) {
    out.MemberNull("registry");
    out.Member("registryReason", WhyNotAsked(image));
    return;
  }
  const plan::RegistryView& said = *image.registry;
  out.Key("registry");
  out.BeginObject();
  out.MemberOrNull("answer", said.answer ? image::RegistryAnswerName(*said.answer) : std::string_view());
  out.MemberOrNull("detail", said.detail);
  out.MemberOrNull("digest", said.digest);
  out.MemberOrNull("checkedAt", said.checked_at);
  out.MemberBool("fresh", said.fresh);
  out.Member("reason", plan::ReasonName(said.reason));
  out.Member("message", said.message);
  out.MemberBool("agrees", said.agrees);
  out.MemberOrNull("answeredBy", said.answered_by);
  out.MemberOrNull("confirmedAt", said.confirmed_at);
  MemberSince(out, "ageSeconds", said.confirmed_at, time);
  out.MemberOrNull("nextCheckAt", said.next_check_at);
  out.MemberNumber("silentChecks", static_cast<std::uint64_t>(std::max(said.silent, 0)));
  out.MemberOrNull("changedFrom", said.changed_from);
  out.MemberOrNull("changedAt", said.changed_at);
  out.EndObject();
  out.MemberNull("registryReason");
}

void WriteAllowance(doc::JsonWriter& out, const plan::RegistryStatus& registry) {
  if (registry.allowance) {
    out.MemberNumber("pullsLeft", registry.allowance->remaining);
    out.MemberNumber("pullsAllowed", registry.allowance->limit);
  } else {
    out.MemberNull("pullsLeft");
    out.MemberNull("pullsAllowed");
  }
  out.MemberBool("updatesWait", registry.saves_pulls);
}

void WriteRegistries(doc::JsonWriter& out, const std::vector<plan::RegistryStatus>& registries,
                     base::WallTime time) {
  out.BeginArray();
  for (const plan::RegistryStatus& registry : registries) {
    out.BeginObject();
    out.Member("name", registry.name);
    out.MemberNumber("entries", registry.entries);
    out.MemberNumber("checksPerHour", static_cast<std::uint64_t>(std::ceil(registry.checks_per_hour)));
    out.MemberNumber("requestsPerSecond", static_cast<std::uint64_t>(registry.requests_per_second));
    out.MemberNumber("requestsLeft", static_cast<std::uint64_t>(registry.requests_left));
    out.MemberNumber("requests", registry.requests);
    out.MemberOrNull("trouble", registry.trouble);
    out.MemberOrNull("message", registry.message);
    out.MemberOrNull("unreachableSince", registry.unreachable_since);
    MemberSince(out, "unreachableForSeconds", registry.unreachable_since, time);
    out.MemberOrNull("heldUntil", registry.held_until);
    WriteAllowance(out, registry);
    out.EndObject();
  }
  out.EndArray();
}

void WriteRegistryAccess(doc::JsonWriter& out, const std::optional<image::RegistryAccess>& access) {
  out.Key("registries");
  if (!access) {
    out.Null();
    return;
  }
  out.BeginObject();
  out.MemberOrNull("configPath", access->config_path);
  out.MemberOrNull("configPathSource", access->config_path_source);
  out.Key("byPull");
  out.Strings(access->by_pull);
  out.MemberOrNull("byPullSource", access->by_pull_source);
  out.Key("notes");
  out.Strings(access->notes);
  out.EndObject();
}

void WriteRegistryHosts(doc::JsonWriter& out, const std::optional<RegistryHostsView>& view) {
  if (!view) {
    out.MemberNull("registryHosts");
    return;
  }
  out.Key("registryHosts");
  out.BeginObject();
  out.MemberBool("byPull", view->by_pull);
  out.MemberOrNull("source", view->source);
  out.MemberOrNull("configPath", view->config_path);
  out.MemberOrNull("configPathSource", view->config_path_source);
  out.Key("hosts");
  out.BeginArray();
  for (const RegistryHostView& host : view->hosts) {
    out.BeginObject();
    out.Member("server", host.server);
    out.MemberBool("mirror", host.mirror);
    out.MemberOrNull("problem", host.problem);
    out.EndObject();
  }
  out.EndArray();
  out.Key("notes");
  out.Strings(view->notes);
  out.EndObject();
}

}  // namespace prefetch::status
