#include "status/status_json.h"

#include "base/text.h"
#include "doc/json_writer.h"
#include "status/json_parts.h"

namespace prefetch::status {

namespace {

// More than the document and an image of it usually take; memory that is not written to costs nothing.
constexpr std::size_t kHeadBytes = 16384;
constexpr std::size_t kImageBytes = 2048;

void WriteList(doc::JsonWriter& out, const plan::ImageList& list, std::size_t entries) {
  out.BeginObject();
  out.MemberOrNull("hash", list.hash);
  out.MemberNumber("entries", entries);
  out.Key("sources");
  out.BeginArray();
  for (const plan::ListSource& source : list.sources) {
    out.BeginObject();
    out.Member("name", source.name);
    out.Member("path", source.path);
    out.MemberOrNull("hash", source.hash);
    out.MemberNumber("entries", source.entries);
    out.MemberOrNull("loadedAt", source.loaded_at);
    out.MemberOrNull("error", source.error);
    out.EndObject();
  }
  out.EndArray();
  out.Key("warnings");
  out.Strings(list.warnings);
  out.EndObject();
}

// A declared fact, and no missing one: "version": "none" stands beside its source.
void WriteNoKubelet(doc::JsonWriter& out) {
  out.BeginObject();
  out.Member("version", "none");
  out.MemberNull("verification");
  out.Key("sources");
  out.BeginObject();
  out.Member("version", "declared");
  out.EndObject();
  out.MemberNull("recordsReadable");
  out.EndObject();
}

void WriteImageGc(doc::JsonWriter& out, const plan::KubeletStatus& kubelet) {
  if (!kubelet.gc) {
    out.Null();
    return;
  }
  auto seconds = [](std::chrono::nanoseconds age) {
    return std::chrono::duration_cast<std::chrono::seconds>(age).count();
  };
  out.BeginObject();
  out.Key("highThresholdPercent");
  out.Integer(kubelet.gc->high_percent);
  out.Key("lowThresholdPercent");
  out.Integer(kubelet.gc->low_percent);
  out.Key("minimumAgeSeconds");
  out.Integer(seconds(kubelet.gc->minimum_age));
  out.Key("maximumAgeSeconds");
  out.Integer(seconds(kubelet.gc->maximum_age));
  out.Key("warnings");
  out.Strings(kubelet.gc_warnings);
  out.EndObject();
}

void WriteDisk(doc::JsonWriter& out, const plan::DiskStatus& disk) {
  if (!disk.known) {
    out.Null();
    return;
  }
  out.BeginObject();
  out.Member("path", disk.path);
  out.MemberNumber("capacityBytes", disk.capacity_bytes);
  out.MemberNumber("availableBytes", disk.available_bytes);
  out.MemberNumber("keptFreeBytes", disk.kept_free_bytes);
  out.MemberNumber("neededBytes", disk.needed_bytes);
  out.MemberBool("pressure", disk.pressure);
  out.EndObject();
}

void WriteReadiness(doc::JsonWriter& out, const plan::Readiness& readiness) {
  out.MemberBool("ready", readiness.ready);
  out.Member("phase", plan::PhaseName(readiness.phase));
  out.Member("reason", plan::ReasonName(readiness.reason));
  out.Member("message", readiness.message);
  out.MemberNumber("required", readiness.required);
  out.MemberNumber("requiredReady", readiness.required_ready);
}

void WriteUnlisted(doc::JsonWriter& out, const plan::Unlisted* unlisted) {
  // null with a reason: an empty list would mean that nothing came.
  if (unlisted == nullptr) {
    out.MemberNull("unlisted");
    out.Member("unlistedReason", "not known yet");
    return;
  }
  out.Key("unlisted");
  out.BeginArray();
  for (const plan::UnlistedImage& image : unlisted->images) {
    out.BeginObject();
    out.Member("image", image.image);
    out.Member("imageID", image.image_id);
    out.MemberNumber("sizeBytes", image.size_bytes);
    out.Member("firstSeen", base::Rfc3339(image.first_seen));
    out.Member("arrivedAt", base::Rfc3339(image.arrived_at));
    out.MemberBool("present", image.present);
    out.EndObject();
  }
  out.EndArray();
  out.Member("unlistedSince", base::Rfc3339(unlisted->since));
  out.MemberNumber("unlistedLeftOut", unlisted->left_out);
  // Always present, so that programs can read it without a case.
  out.MemberNull("unlistedReason");
}

}  // namespace

void WriteRuntime(doc::JsonWriter& out, const plan::RuntimeStatus& runtime) {
  out.BeginObject();
  out.MemberOrNull("name", runtime.name);
  out.MemberOrNull("version", runtime.version);
  out.MemberOrNull("endpoint", runtime.endpoint);
  out.MemberBool("up", runtime.up);
  out.MemberOrNull("error", runtime.error);
  WriteRegistryAccess(out, runtime.access);
  out.EndObject();
}

void WriteKubelet(doc::JsonWriter& out, const std::optional<plan::KubeletStatus>& kubelet) {
  if (!kubelet) {
    WriteNoKubelet(out);
    return;
  }
  out.BeginObject();
  out.MemberOrNull("version", kubelet->version);
  out.MemberOrNull("rules", kubelet->rules);
  out.MemberOrNull("verification", kubelet->verification);
  out.Key("allowlist");
  out.Strings(kubelet->allowlist);
  out.MemberOrNull("root", kubelet->root);
  out.Key("sources");
  out.BeginObject();
  for (const auto& [fact, source] : kubelet->sources) out.Member(fact, source);
  out.EndObject();
  if (kubelet->records_readable) {
    out.MemberBool("recordsReadable", *kubelet->records_readable);
  } else {
    out.MemberNull("recordsReadable");
  }
  out.MemberOrNull("recordsNote", kubelet->records_note);
  out.MemberOrNull("runtimeNote", kubelet->runtime_note);
  out.Key("contradictions");
  out.Strings(kubelet->contradictions);
  out.Key("imageGC");
  WriteImageGc(out, *kubelet);
  out.EndObject();
}

std::string StatusJson(const plan::Snapshot& snapshot, base::WallTime time) {
  doc::JsonWriter out;
  // One allocation: a document of thousands of images would otherwise be copied several times while it grows.
  out.Reserve(kHeadBytes + snapshot.images.size() * kImageBytes);
  out.BeginObject();
  out.Member("apiVersion", kStatusApiVersion);
  out.Member("kind", "NodeStatus");
  out.Member("node", snapshot.node);
  WriteReadiness(out, snapshot.readiness);
  out.Member("time", base::Rfc3339(time));
  out.Key("list");
  WriteList(out, snapshot.list, snapshot.images.size());
  out.Key("runtime");
  WriteRuntime(out, snapshot.runtime);
  out.Key("kubelet");
  WriteKubelet(out, snapshot.kubelet);
  out.Key("disk");
  WriteDisk(out, snapshot.disk);
  out.Key("registries");
  WriteRegistries(out, snapshot.registries, time);
  out.Key("problems");
  out.Strings(snapshot.problems);
  out.Key("images");
  out.BeginArray();
  for (const plan::ImageState& image : snapshot.images) {
    out.BeginObject();
    WriteImage(out, snapshot, image, time);
    out.EndObject();
  }
  out.EndArray();
  WriteUnlisted(out, snapshot.unlisted.get());
  out.EndObject();
  return out.Take() + "\n";
}

namespace {

constexpr const char* kHidden =
    "hidden: messages and problems, which the agent shows over its local socket\n";

// Messages can hold line breaks (all errors of a list source, one a line).
std::string OneLine(std::string_view text) {
  return base::ReplaceAll(text, "\n", "; ");
}

std::string HashOrNone(const std::string& hash) {
  return hash.empty() ? "none" : hash;
}

std::string EntryLine(const plan::ImageState& image, View view) {
  // The marks of the API server's own /readyz?verbose.
  std::string line = image.ready ? "[+] " : "[-] ";
  line += image.want->reference.written();
  if (!image.want->required) line += " (optional)";
  line += " ";
  line += plan::ReasonName(image.reason);
  // Messages may name registries and credentials, so the public view has only the reason.
  return view == View::kPublic ? line + "\n" : line + ": " + OneLine(image.message) + "\n";
}

}  // namespace

std::string ReadyzText(const plan::Snapshot& snapshot, const plan::ReadyAnswer& answer, bool verbose,
                       View view) {
  const bool open = view == View::kPublic;
  std::string text = answer.ready ? "ready: " : "not ready: ";
  text += OneLine(open ? answer.public_message : answer.message) + "\n";
  text += "list " + HashOrNone(snapshot.list.hash) + "\n";
  for (const plan::ListSource& source : snapshot.list.sources) {
    text += "source " + source.name + " " + HashOrNone(source.hash);
    // A source that was never in force is part of the first line's message.
    if (!source.error.empty() && source.loaded_at) {
      text += " (a newer version is not in force" + (open ? "" : ": " + OneLine(source.error)) + ")";
    }
    text += "\n";
  }
  if (!verbose) return text;
  for (const std::string& problem : snapshot.problems) {
    // Problems may name files and registries.
    if (!open) text += "problem " + OneLine(problem) + "\n";
  }
  for (const plan::ImageState* image : answer.entries) text += EntryLine(*image, view);
  if (open) text += kHidden;
  return text;
}

}  // namespace prefetch::status
