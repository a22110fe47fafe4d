#include "ctl/agent_client.h"

#include <gtest/gtest.h>

#include <string>

#include "ctl/exit_code.h"
#include "ctl/explain.h"
#include "ctl/fake_agent.h"
#include "ctl/ran.h"
#include "rows.h"

namespace prefetch::ctl::agent_client_test {
namespace {

using base::Code;

struct AddressCase {
  std::string name;
  std::string address;
  std::string asked;  // empty: it is no address
};

class Address : public testing::TestWithParam<AddressCase> {};

TEST_P(Address, IsAskedOrRefused) {
  tests::FakeAgent agent;
  auto client = AgentClient::Make(agent, GetParam().address);
  ASSERT_EQ(client.ok(), !GetParam().asked.empty());
  if (!client) {
    EXPECT_EQ(client.error().code(), Code::kInvalidArgument);
    return;
  }
  (void)client->StatusJson({});
  EXPECT_EQ(agent.asked().front(), GetParam().asked);
}

TEST_ROWS(Rows, Address, {"Socket", "unix:///run/a.sock", "GET http://localhost/v1/status /run/a.sock"},
          {"Path", "/run/a.sock", "GET http://localhost/v1/status /run/a.sock"},
          {"Url", "http://n1:9477", "GET http://n1:9477/v1/status "},
          {"UrlWithSlashes", "http://n1:9477//", "GET http://n1:9477/v1/status "},
          {"BracketsOfIPv6", "http://[fd00::1]:9477", "GET http://[fd00::1]:9477/v1/status "},
          {"BracketsOfIPv4", "http://[10.0.0.1]:9477", "GET http://10.0.0.1:9477/v1/status "},
          {"RelativeSocket", "unix://run/a.sock", ""}, {"Https", "https://n1:9477", ""},
          {"Host", "n1:9477", ""}, {"Nothing", "", ""});

struct ErrorCase {
  std::string name;
  base::Error error;
  Code code;
  std::string advice;
};

class Away : public testing::TestWithParam<ErrorCase> {};

TEST_P(Away, WithWhatHelps) {
  tests::FakeAgent agent;
  agent.Goes(GetParam().error);
  auto answer = agent.Client().StatusJson({});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), GetParam().code);
  EXPECT_TRUE(answer.error().message().starts_with("cannot ask the agent at unix:///run/a.sock: it broke ("));
  EXPECT_HAS(answer.error().message(), GetParam().advice);
}

TEST_ROWS(Rows, Away, {"NoSocket", base::NotFound("it broke"), Code::kNotFound, "Name another with --agent"},
          {"NotForUs", base::PermissionDenied("it broke"), Code::kPermissionDenied, "run as root"},
          {"NobodyThere", base::Unavailable("it broke"), Code::kUnavailable, "is prefetchd running"},
          {"Late", base::DeadlineExceeded("it broke"), Code::kDeadlineExceeded, "see its log"},
          {"EndlessIsNoPatience", base::ResourceExhausted("it broke"), Code::kInternal,
           "is that a prefetchd?"});

struct CheckCase {
  std::string name;
  int status;
  std::string body;
  Code code;
  std::string says;
};

class Refusal : public testing::TestWithParam<CheckCase> {};

TEST_P(Refusal, OfACheckHasItsCode) {
  tests::FakeAgent agent;
  agent.Answers("/v1/check", GetParam().status, GetParam().body);
  auto result = agent.Client().Check({}, {.questions = {{}}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), GetParam().code) << result.error().message();
  EXPECT_HAS(result.error().message(), GetParam().says);
}

TEST_ROWS(Rows, Refusal,
          {"NoPull", 403, R"({"error":"not from here"})", Code::kPermissionDenied, "refuses: not from here"},
          {"BadToken", 401, R"({"error":"it has expired"})", Code::kPermissionDenied,
           "refuses the token: it has expired"},
          {"OlderAgent", 400, R"({"error":"unknown field"})", Code::kInvalidArgument,
           "unknown field (is it as new as this prefetchctl?)"},
          {"NoWords", 400, "<html>", Code::kInvalidArgument, "it does not say why"},
          {"Busy", 429, "", Code::kResourceExhausted, "it is busy"},
          {"BusyToo", 503, "", Code::kResourceExhausted, "it is busy"},
          {"Stranger", 404, "", Code::kInternal, "is that a prefetchd"},
          {"NoAnswer", 200, R"({"apiVersion":"prefetchd.dev/v1","kind":"CheckResult","answers":[]})",
           Code::kInternal, "gave an unexpected answer"});

TEST(AgentClient, PassesNoTerminalCodesOn) {
  tests::FakeAgent agent;
  agent.Answers("/v1/check", 400, "{\"error\":\"\\u001b[31mred\"}");
  EXPECT_EQ(agent.Client().Check({}, {.questions = {{}}}).error().message().find('\x1b'), std::string::npos);
}

TEST(AgentClient, ADocumentThatIsNoneSaysWhoSentIt) {
  tests::FakeAgent agent;
  agent.Answers("/v1/status", 200, "[]");
  auto status = agent.Client().Status({});
  ASSERT_FALSE(status);
  EXPECT_HAS(status.error().message(), "the agent at unix:///run/a.sock sent no status document");
}

struct ExplainCase {
  std::string name;
  std::string image;
  int status;
  std::string body;
  int exit;
  std::string says;  // on standard error
};

class Explained : public testing::TestWithParam<ExplainCase> {};

TEST_P(Explained, EndsWithItsCode) {
  tests::FakeAgent agent;
  agent.Answers("/v1/images/" + GetParam().image, GetParam().status, GetParam().body);
  ExplainOptions options{.image = GetParam().image, .timeout = std::chrono::seconds(5), .json = true};
  Ran ran = tests::Run([&](auto& out, auto& err) { return Explain({}, agent.Client(), options, out, err); });
  EXPECT_EQ(ran.exit, GetParam().exit);
  EXPECT_EQ(ran.out, GetParam().exit == kOk ? GetParam().body : "");
  EXPECT_HAS(ran.err, GetParam().says);
}

const std::string kImage =
    R"({"apiVersion":"prefetchd.dev/v1","kind":"ImageStatus","node":"n","image":"q.io/a:v1"})";

TEST_ROWS(Rows, Explained, {"Known", "q.io/a:v1", 200, kImage, kOk, ""},
          {"NotOnTheList", "q.io/a:v1", 404, kImage, kOk, ""},
          {"NoName", "q.io/A", 200, kImage, kBadInput, "lowercase"},
          {"Refused", "q.io/a:v1", 400, "", kBadInput, "refuses"},
          {"NotOverTheNetwork", "q.io/a:v1", 404, R"({"error":"no such path"})", kUnreachable,
           "local socket"},
          {"Stranger", "q.io/a:v1", 200, "<html>", kUnreachable, "the agent's answer"},
          {"Busy", "q.io/a:v1", 503, "", kUnreachable, "busy"});

}  // namespace
}  // namespace prefetch::ctl::agent_client_test
