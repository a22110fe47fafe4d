// The table of prefetchctl's commands, and their shared parts. The files of this folder declare the options
// of the commands to CLI11, with examples, and hand their values to the code that does the work, which knows
// nothing of CLI11. A new command: a function beside its likes, and a declaration and a row in this header.
#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/call.h"
#include "base/enum_name.h"
#include "base/result.h"
#include "base/text.h"
#include "config/settings.h"
#include "ctl/agent_client.h"
#include "ctl/cluster.h"
#include "ctl/commands.h"
#include "ctl/exit_code.h"
#include "ctl/fleet.h"
#include "ctl/manifest_files.h"
#include "http/curl_client.h"

namespace prefetch::ctl {

// Options and streams that all commands share. A resource of main; it outlives the command that runs.
struct Context {
  http::CurlClient http;
  std::string agent;  // The value of --agent; empty if it was not given.
  base::Call call;    // stopped by SIGINT and SIGTERM

  // Returns --agent, else PREFETCHD_AGENT; empty if there is none. CLI11's envname() is not used, since the
  // variable would then win over the flag of another subcommand.
  std::string NamedAgent() const;
  // Returns a client of that agent, else of the default one. InvalidArgument: the address has no form of one.
  base::Result<AgentClient> Client();
};

// The command's work, which runs after parsing; returns the exit code.
using Command = std::function<int()>;

// --agent.
void AgentOption(CLI::App& command, Context& context);
// An option that may be given again and takes one value each time.
CLI::Option* RepeatableOption(CLI::App& command, const std::string& flag, std::vector<std::string>& values,
                              const std::string& help);
// -o text|json.
CLI::Option* TextOrJsonOption(CLI::App& command, bool& json);
// --kubeconfig and --context; returns both.
std::array<CLI::Option*, 2> ClusterFlags(CLI::App& command, ClusterOptions& cluster);
// -f, --pod-template-path and --allow-unread, of the commands that read manifests.
void FilenameOption(CLI::App& command, std::vector<std::string>& files);
void PodTemplatePathOption(CLI::App& command, std::vector<std::string>& paths);
void AllowUnreadOption(CLI::App& command, std::vector<std::string>& kinds);
// The two latter, and those about policies that manifests leave out.
void ManifestFlagOptions(CLI::App& command, ManifestFlags& flags);
// Adds an option that takes several values each time. Not for commands with positional arguments, which the
// option would consume.
CLI::Option* MultiValueOption(CLI::App& command, const std::string& flag, std::vector<std::string>& values,
                              const std::string& help);

// Reads the images of the option `flag`, each with its policy. A --policy belongs to the image before it, so
// both are read in the order of the command line.
base::Status PairImages(const CLI::App& command, const std::string& flag,
                        std::vector<CheckOptions::Image>& images);

// Adds the flags of prefetchd that decide where the credentials of this node, or of the user's machine, are
// found.
void CredentialOptions(CLI::App& command, config::RawConfig& flags);

// Prints the words that may stand for the last one of a command line, each with its help on a line. `words`
// follow the program's name; the last one is as far as it was typed, and may be empty. Returns whether names
// of files may stand there instead.
bool PrintCompletions(const CLI::App& app, const std::vector<std::string>& words, std::ostream& out);

// A command that CLI11 parses, with its work.
struct Subcommand {
  const CLI::App* app;  // parsed(): it is the one to run
  Command run;
};

Command AuditCommand(CLI::App& command, Context& context);
Command CheckCommand(CLI::App& command, Context& context);
Command CompletionsCommand(CLI::App& command, Context& context);
Command CredentialsCommand(CLI::App& command, Context& context);
Command ExplainCommand(CLI::App& command, Context& context);
Command GenerateCommand(CLI::App& command, Context& context);
Command LintCommand(CLI::App& command, Context& context);
Command ListCheckCommand(CLI::App& command, Context& context);
Command ListDiffCommand(CLI::App& command, Context& context);
Command ListExportCommand(CLI::App& command, Context& context);
Command ListImportCommand(CLI::App& command, Context& context);
Command ListLockCommand(CLI::App& command, Context& context);
Command ListPrintCommand(CLI::App& command, Context& context);
Command MigrateCommand(CLI::App& command, Context& context);
Command PlanCommand(CLI::App& command, Context& context);
Command RetryCommand(CLI::App& command, Context& context);
Command SchemaCommand(CLI::App& command, Context& context);
Command StatusCommand(CLI::App& command, Context& context);
Command UninstallCommand(CLI::App& command, Context& context);
Command VerdictCommand(CLI::App& command, Context& context);
Command VersionCommand(CLI::App& command, Context& context);
Command WaitCommand(CLI::App& command, Context& context);
Command WatchCommand(CLI::App& command, Context& context);

// A command, or a word that only has commands below it. Groups are the headings of the first page of help, in
// the order of this table; one that is called kHidden works and is not shown.
inline constexpr const char* kHidden = "";
inline constexpr const char* kInspect = "Look at a node or a fleet";
inline constexpr const char* kGate = "Gate CI";
inline constexpr const char* kLists = "Lists";
inline constexpr const char* kInstall = "Install";
inline constexpr const char* kMore = "More";

struct CommandRow {
  const char* words;  // "list check"
  const char* group;
  const char* help;
  Command (*setup)(CLI::App&, Context&);  // nullptr: it has commands below it
};

inline constexpr CommandRow kCommands[] = {
    {"status", kInspect, "Show the images of this node, or of a fleet", StatusCommand},
    {"explain", kInspect, "Explain one image on this node, and what kubelet would do with it",
     ExplainCommand},
    {"retry", kInspect, "Try images again at once that wait for their next attempt", RetryCommand},
    {"watch", kInspect, "Tell a webhook of nodes that fail, or are ready again", WatchCommand},
    {"check", kGate, "Check whether pods would start on this node with these images", CheckCommand},
    {"wait", kGate, "Wait until all required images are ready", WaitCommand},
    {"lint", kGate,
     "Compare manifests with lists, offline: unlisted images, policies that contact the registry",
     LintCommand},
    {"list", kLists, "Check, compare, lock, create and export list files", nullptr},
    {"list check", kMore, "Validate list files", ListCheckCommand},
    {"list diff", kMore, "Compare two lists, or a list with this node", ListDiffCommand},
    {"list export", kMore, "Export a list as settings of kubelet or OpenShift", ListExportCommand},
    {"list import", kMore, "Create a list from manifests, a node's images, plain lists or marked lines",
     ListImportCommand},
    {"list lock", kMore, "Write the digests of a list's tags, as the registries report them",
     ListLockCommand},
    {"list print", kMore, "Print the canonical form or the hash of list files", ListPrintCommand},
    {"plan", kInstall, "Calculate what a list costs a fleet and its registries", PlanCommand},
    {"generate", kInstall, "Generate the agent's manifests for a platform, with a list", GenerateCommand},
    {"uninstall", kInstall, "Remove the agents' labels, conditions and taints from Node objects",
     UninstallCommand},
    {"audit", kMore, "Find images that came to the nodes without being on the list", AuditCommand},
    {"credentials", kMore, "Show this node's credentials for an image, or validate their configuration",
     CredentialsCommand},
    {"migrate", kMore, "Generate the agent's manifests to replace another prefetcher", nullptr},
    {"migrate image-prefetcher", kMore, "Replace stackrox/image-prefetcher", MigrateCommand},
    {"schema", kMore, "Print the JSON Schema of a list, a configuration, or an answer of the agent",
     SchemaCommand},
    {"completion", kMore, "Print a completion script for bash, zsh or fish", CompletionsCommand},
    {"version", kMore, "Print the versions of this program and of this node's agent", VersionCommand},
    {"verdict", kHidden, "Print what kubelet would do with a pod and this image, from its files alone",
     VerdictCommand},
};

// Adds all commands of the table to the program, and returns those that do some work. They keep `context`.
std::vector<Subcommand> AddCommands(CLI::App& app, Context& context);

// How --help shows options: the values that one can have as "text|json", and nothing of CLI11's own words.

// The options and commands that --help shows. Hidden ones still work.
std::vector<const CLI::Option*> ShownOptions(const CLI::App& command);
std::vector<const CLI::App*> ShownCommands(const CLI::App& command);

// Returns false for a flag.
bool TakesValue(const CLI::Option& option);

// Returns all values that `option` can have; empty if it can have any.
std::vector<std::string> ValuesOf(const CLI::Option& option);

// Returns these values as "text|json"; the type if the option takes any value, or so many that its
// description lists them.
std::string ValueLabel(const CLI::Option& option);

// Returns the text of --help in lines of at most `width` columns, except for examples, which users copy.
std::string WrappedHelp(const std::string& help, std::size_t width);

// Returns the format of --help, for the program and all its commands.
std::shared_ptr<CLI::FormatterBase> HelpFormat();

// Converts CLI11's complaint about a command line to a sentence that says what to write. `command` is the
// command that was recognised. A complaint of an unknown form stays as CLI11 words it.
std::string UsageErrorText(const CLI::App& command, const CLI::ParseError& error);

// Options whose values are words of a list.

// Accepts these words only, and not the numbers that stand for them. The error for any other word lists them,
// as CLI::IsMember does.
template <typename E>
CLI::Option* OneOf(CLI::Option* option, const std::map<std::string, E>& names) {
  std::vector<std::string> words;
  for (const auto& [word, value] : names) words.push_back(word);
  // CLI11 runs the transformation that was added last first.
  return option->transform(CLI::CheckedTransformer(names))->transform(CLI::IsMember(words));
}

// The words are the names of the enumerators in small letters: kText is "text".
template <typename E>
CLI::Option* OneOf(CLI::Option* option) {
  std::map<std::string, E> names;
  for (std::string_view name : base::EnumNames<E>::kNames)
    names[base::ToLower(name)] = *base::EnumNamed<E>(name);
  return OneOf(option, names);
}

// Values that shell completion suggests. The command itself validates the value.
inline void OfferValues(CLI::Option* option, const std::vector<std::string>& words) {
  option->type_name("TEXT:{" + CLI::detail::join(words, ",") + "}");
}

// An empty value is bad usage: scripts pass one for a variable that is not set, and it would mean "all".
void RejectEmpty(CLI::Option* option);
void RejectPortZero(CLI::Option* option);

// The options that every command with --fleet has.

struct FleetFlags {
  bool fleet = false;
  ClusterOptions cluster;
  FleetQuery query;
};

// Where --help shows what needs --fleet.
inline constexpr const char* kFleetGroup = "With --fleet";

// Adds the options of --fleet. All but --fleet itself need it.
void FleetOptions(CLI::App& command, FleetFlags& flags);

// --include-unready, of commands that count nodes.
void UnreadyOption(CLI::App& command, FleetFlags& flags);

}  // namespace prefetch::ctl
