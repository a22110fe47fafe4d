#include "reference/pages.h"

#include <cctype>
#include <cstddef>
#include <string_view>

#include "base/text.h"
#include "manifest/lint/rule.h"
#include "reference/page_parts.h"
#include "status/words.h"

namespace prefetch::reference {
namespace {

constexpr std::size_t kMostColumns = 120;

// Returns the anchor that GitHub makes from a heading.
std::string AnchorOf(std::string_view heading) {
  std::string anchor;
  for (unsigned char c : heading) {
    if (std::isalnum(c) != 0 || c == '-' || c == '_') anchor += static_cast<char>(std::tolower(c));
    if (c == ' ') anchor += '-';
  }
  return anchor;
}

constexpr std::string_view kLintHead =
    "# Rules of lint\n\n"
    "`prefetchctl lint` compares manifests with lists, without cluster, registry or agent. It finds images "
    "that no\n"
    "node prefetches, unused entries, and pull policies that make pods depend on the registry for present "
    "images.\n"
    "An id is never given to another rule.\n\n";

constexpr std::string_view kLintUse = R"(
## Run it

```sh
prefetchctl lint -f deploy/ --list images.yaml
helm template ci/ | prefetchctl lint -f - --list images.yaml
kubectl get pods -A -o json | prefetchctl lint -f - --list images.yaml --select PF1
```

Manifests are files, directories, patterns or standard input, as YAML, JSON or Lists. Render templates first. In a
directory, `*.yaml`, `*.yml` and `*.json` count. Pods in custom resources, Tekton and Argo count, too, and objects that
are not understood are named: [Which images are seen](#which-images-are-seen). `--assume-always-pull`, `--default-policy` and
`--default-check-policy` describe a cluster or a controller that sets other policies.

`-o text` is for a terminal, `json` for scripts, `github` for annotations in pull requests, and `sarif` for code
scanning. All of them report inputs that could not be read. [Exit codes](exit-codes.md): notes do not fail a job.

## Which images are seen

`lint`, `check -f` and `list import -f` read manifests by the same rules. They name what they do not
understand.

### Pods

| object | where the pods are |
|---|---|
| Kubernetes' own kinds, OpenShift's DeploymentConfig | at their place; a misspelt `template`, `spec`, `containers` or `image` is a mistake |
| `List`, OpenShift's `Template`, Tekton's TriggerTemplate | in the objects in it, with the default values of the parameters |
| Tekton's Task, Pipeline (also nested), their runs, StepAction | steps and sidecars; parameters with a default or a given value count |
| Argo's Workflow and its templates | containers, `templateDefaults`, `resource.manifest`, `podSpecPatch`, executor plugins |
| known custom resources | at their place, with the policy that their controller fills in |
| every other object | each mapping with `containers` that have a `name` and an `image`, at any depth |
| GitLab runner's `config.toml`, Jenkins' configuration as code | by themselves, or in a ConfigMap |
| a text in a ConfigMap | if it has the comment `# prefetchctl: manifest` |

Known are the kinds of Prometheus Operator, Knative, KServe, Kubeflow, Ray, Spark, Flink, JobSet, LeaderWorkerSet,
Volcano, KEDA, KubeVirt, Strimzi, CloudNativePG, Argo Rollouts, Actions Runner Controller, OpenKruise, Prow, OLM and
Crossplane. The table is `lib/manifest/known_kinds.cc`: a new kind is a row.

For containers without names in another kind, use `--pod-template-path spec.template`. It is repeatable, and `*` is any
key. A path that leads to no pod is a mistake.

### Images that are no containers

A field such as `spec.image`, `spec.baseImage` or `image: {repository, tag}` of a custom resource counts as an image,
with the note `policy unknown`. Rules about pull policies leave it out. For images in `args` and `env`, name the words
in front of them:

```sh
prefetchctl list import --marker=-image= --marker RELATED_IMAGE_ --in operator.yaml
```

### Objects without images

If an object may run pods, and has no image, the commands name its kind, name, file and line. `lint` (PF107) and
`check` then end with exit code 1. `list import` prints the names to standard error, and as comments in the list. There
are four cures:

- Name the place of its pods: `--pod-template-path spec.template`.
- Render it first, if it is a patch or a chart.
- List the controller's images, and accept the kind: `--allow-unread Kafka`. Patterns of kind and group work, too:
  `--allow-unread '*.acme.io'`.
- If the kind never runs pods, accept it as well. Many such kinds are known already: certificates, policies, routes,
  monitors.

### Sizes

All commands read up to 256 MiB, and 10 MiB of one document or item. They read a list in JSON item by item, so that
`kubectl get pods -A -o json | prefetchctl lint -f - --list images.yaml` works for thousands of pods.

## Select and ignore rules

`--select` and `--ignore` take ids or their beginnings: `--select PF1,PF201`. A comment with a reason switches rules
off. At the end of a line, it covers that line. On a line of its own, it covers the next line, and the whole container,
volume or list entry that begins there.

```yaml
containers:
# prefetchctl: ignore=PF101,PF303 pulled by hand for the demo
- name: demo
  image: demo:v1
- name: app
  image: quay.io/acme/app        # prefetchctl: ignore=PF201 the mirror runs on the node
```

## All rules

| id | name | severity | finding | effect, and what to do |
|---|---|---|---|---|
)";

constexpr std::string_view kLintDetails = R"(
- `PF102` is right to ignore if manifests of another repository, or a test, use the image.
- `PF105` and `PF302`: a pod without secrets gets those of its service account, which manifests do not show.
- `PF106`: a policy that the step or its `stepTemplate` sets is not seen. `check -f` prints a note about such steps.
- `PF203` takes `latest`, `main`, `nightly` and similar tags for moving ones.
- `PF204` compares init containers with their own pod. It compares containers with names like `check`, `preflight`,
  `prepull` or `verify` with all pods of all manifests.
- `PF301` finds two spellings of a repository, a tag here and a digest there, one digest in two repositories, and the
  same path and tag in two registries. It does not report two names that are both on the list.
- `PF304` is often a variable without a value.
)";

}  // namespace

std::string WithContents(const std::string& page) {
  std::vector<std::string> links;
  for (std::string_view line : base::Split(page, '\n')) {
    if (!line.starts_with("## ")) continue;
    line.remove_prefix(3);
    links.push_back("[" + std::string(line) + "](#" + AnchorOf(line) + ")");
  }
  if (links.size() < 2) return page;
  std::string contents, row;
  for (std::size_t i = 0; i < links.size(); i++) {
    const std::string link = links[i] + (i + 1 < links.size() ? " ·" : "");
    if (!row.empty() && row.size() + 1 + link.size() > kMostColumns) {
      contents += row + "\n";
      row.clear();
    }
    row += (row.empty() ? "" : " ") + link;
  }
  // The links go below the title, which is the first line.
  const std::size_t end_of_title = page.find('\n');
  return page.substr(0, end_of_title) + "\n\n" + contents + row + "\n" + page.substr(end_of_title + 1);
}

std::string LintPage() {
  std::string page(kLintHead);
  page += kGenerated;
  page += kLintUse;
  for (const manifest::lint::Rule& rule : manifest::lint::Rules()) {
    page += "| `" + std::string(rule.id) + "` | " + std::string(rule.name) + " | " +
            std::string(SeverityName(rule.severity)) + " | " + std::string(rule.summary) + " | " +
            base::ReplaceAll(std::string(rule.help), "|", "\\|") + " |\n";
  }
  return page + std::string(kLintDetails);
}

std::vector<Page> Pages(const std::vector<CommandHelp>& commands) {
  std::vector<Page> pages = {{"list", ListPage()},           {"configuration", ConfigurationPage()},
                             {"flags", FlagsPage(commands)}, {"api", ApiPage()},
                             {"metrics", MetricsPage()},     {"reasons", status::ReasonsPage()},
                             {"lint", LintPage()},           {"exit-codes", ExitCodesPage(commands)}};
  for (Page& page : pages) page.text = WithContents(page.text);
  return pages;
}

}  // namespace prefetch::reference
