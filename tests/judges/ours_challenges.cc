#include <algorithm>
#include <map>
#include <vector>

#include "base/text.h"
#include "http/url.h"
#include "judges/ours.h"
#include "registry/challenge.h"
#include "registry/login.h"

namespace prefetch::judges {
namespace {

// As Go's url.ParseQuery reads it: what a service sees.
std::string Query(std::string_view text) {
  std::map<std::string, std::vector<std::string>> named;
  for (std::string_view pair : base::Split(text, '&')) {
    if (pair.empty() || pair.find(';') != std::string_view::npos) continue;
    std::string written(pair);
    std::replace(written.begin(), written.end(), '+', ' ');
    const std::size_t equal = std::min(written.find('='), written.size());
    const auto name = base::PercentDecode(std::string_view(written).substr(0, equal));
    const auto value =
        base::PercentDecode(std::string_view(written).substr(std::min(equal + 1, written.size())));
    if (name && value) named[*name].push_back(Quoted(*value));
  }
  std::vector<std::string> members;
  for (const auto& [name, values] : named) {
    members.push_back(Quoted(name) + ":[" + base::Join(values, ",") + "]");
  }
  return "{" + base::Join(members, ",") + "}";
}

// challenge: each line is a header. The judge takes all actions but "pull" out of scopes (R15).
std::string ReadChallenge(std::string_view text, const std::vector<std::string>& /*arguments*/) {
  std::vector<std::string_view> fields;
  for (std::string_view line : base::Split(text, '\n')) {
    const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    line.remove_prefix(begin);
    fields.push_back(line.substr(0, line.find_last_not_of(" \t") + 1));
  }
  const auto challenge = registry::ChooseChallenge(fields);
  if (!challenge) return Error(challenge.error().message());
  if (!*challenge) return Value(Quoted("none"));
  if ((*challenge)->scheme == "basic") return Value(Quoted("basic"));
  const auto contact = http::ParseAbsoluteUrl("https://registry.example.test");
  const auto realm = registry::ValidateRealm((*challenge)->Get("realm"), *contact, {});
  if (!realm) return Error(realm.error().message());
  const auto scopes = registry::PullScopes((*challenge)->Get("scope"), "x");
  const std::string url = registry::TokenUrl(realm->url, (*challenge)->Get("service"), scopes);
  const std::size_t query = std::min(url.find('?'), url.size());
  const std::string target = realm->url.target.substr(0, realm->url.target.find('?'));
  return Value("{\"origin\":" + Quoted(realm->url.Origin()) +
               ",\"path\":" + Quoted(base::PercentDecode(target).value_or(target)) +
               ",\"query\":" + Query(std::string_view(url).substr(std::min(query + 1, url.size()))) + "}");
}

}  // namespace

std::map<std::string, Family> ChallengeFamilies() {
  return {{"challenge", ReadChallenge}};
}

}  // namespace prefetch::judges
