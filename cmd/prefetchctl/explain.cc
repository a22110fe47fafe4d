#include "explain.h"

#include "exit_code.h"
#include "image/reference.h"
#include "report/explain_text.h"
#include "report/image_document.h"

namespace prefetch::ctl {

int Explain(const base::Call& call, const AgentClient& agent, const ExplainOptions& options,
            std::ostream& out) {
  auto reference = image::Reference::Parse(options.image);
  if (!reference) return Fail(kBadInput, std::move(reference).error().Wrap(options.image));
  auto json = agent.ImageJson(call.Within(options.timeout), options.image, options.query);
  if (call.Stopped()) return kInterrupted;
  if (!json) return Fail(json.error());
  if (options.json) {
    out << *json << std::flush;
    return kOk;
  }
  auto document = report::ParseImageDocument(*json);
  if (!document) return Fail(kUnreachable, std::move(document).error().Wrap("the agent's answer"));
  out << report::ExplainText(*document, options.width) << std::flush;
  return kOk;
}

}  // namespace prefetch::ctl
