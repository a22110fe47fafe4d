#include "credentials/containers_auth.h"

#include <utility>

#include "base/redactor.h"
#include "base/text.h"
#include "credentials/auth_field.h"
#include "doc/go_types.h"
#include "doc/json.h"
#include "doc/reader.h"
#include "doc/secret_node.h"

namespace prefetch::credentials {
namespace {

// "auth" has to be padded base64 of user:password. Without a colon there is no login.
void DecodeLogin(std::string encoded, ContainersLogin& login) {
  std::optional<std::string> decoded = doc::DecodeGoBase64(std::move(encoded));
  login.broken = !decoded;
  if (!decoded) return;
  const std::size_t colon = decoded->find(':');
  if (colon == std::string::npos) {
    login.identity_token = false;
  } else {
    std::string_view password = std::string_view(*decoded).substr(colon + 1);
    while (password.starts_with('\0')) password.remove_prefix(1);
    while (password.ends_with('\0')) password.remove_suffix(1);
    login.auth = {decoded->substr(0, colon), base::Secret(std::string(password))};
    base::RememberSecret(login.auth.password);
  }
  base::WipeString(*decoded);
}

std::optional<ContainersLogin> DecodeEntry(const std::string& key, const doc::Reader& entry) {
  ContainersLogin login{.key = key, .auth = {}};
  std::string token = GoText(entry, "identitytoken");
  login.identity_token = !token.empty();
  base::WipeString(token);
  DecodeLogin(GoText(entry, "auth"), login);
  return login;
}

void DecodeHelpers(const doc::Reader& reader, CredHelpers& helpers) {
  if (reader.IsNull()) return helpers.clear();
  for (const auto& [registry, value] : reader.Members()) {
    helpers[registry] = value.IsNull() ? "" : value.String().value_or("");
  }
}

}  // namespace

base::Result<ContainersAuth> DecodeContainersAuth(std::string_view text, DockerConfigShape shape) {
  doc::Problems problems("auth.json");
  std::optional<doc::Node> tree = doc::ParseJson(text, problems, doc::JsonRules::kGo, {.depth = kDeepest});
  ContainersAuth auth;
  if (tree) {
    doc::SecretNode root(std::move(*tree));
    doc::Reader reader(root.node, problems);
    if (shape == DockerConfigShape::kBare) {
      DecodeGoMap(reader, auth.logins, DecodeEntry);
    } else if (!reader.IsNull()) {
      ForEachGoMember(reader, "auths",
                      [&](const doc::Reader& found) { DecodeGoMap(found, auth.logins, DecodeEntry); });
      ForEachGoMember(reader, "credHelpers",
                      [&](const doc::Reader& found) { DecodeHelpers(found, auth.helpers); });
    }
  }
  if (!problems.empty()) return base::InvalidArgument(base::Join(problems.Lines(), "\n"));
  return auth;
}

}  // namespace prefetch::credentials
