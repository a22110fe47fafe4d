#include "ctl/commands.h"

#include "ctl/exit_code.h"
#include "screen/explain_text.h"

namespace prefetch::ctl {

int Explain(const base::Call& call, const AgentClient& agent, const ExplainOptions& options,
            std::ostream& out, std::ostream& err) {
  auto reference = image::Reference::Parse(options.image);
  if (!reference) return Fail(kBadInput, reference.error(), err);
  auto json = agent.ImageJson(call.Within(options.timeout), options.image, options.query);
  if (call.Stopped()) return kInterrupted;
  if (!json) return Fail(json.error(), err);
  // Parsed even if JSON is printed as it came: the answer of another server must not pass for an agent's.
  auto document = status::ParseImageDocument(*json);
  if (!document) return Fail(kUnreachable, std::move(document).error().Wrap("the agent's answer"), err);
  if (options.json) {
    out << *json << std::flush;
    return kOk;
  }
  out << screen::ExplainText(*document, options.width) << std::flush;
  return kOk;
}

}  // namespace prefetch::ctl
