#include "http/handler.h"

#include <gtest/gtest.h>

namespace prefetch::http::handler_test {
namespace {

TEST(Headers, NamesCompareWithoutCaseAndMayRepeat) {
  Headers headers{{"WWW-Authenticate", "Basic"}, {"Date", "now"}, {"www-authenticate", "Bearer"}};
  EXPECT_EQ(headers.Get("Www-Authenticate"), "Basic");
  EXPECT_EQ(headers.All("WWW-AUTHENTICATE"), (std::vector<std::string_view>{"Basic", "Bearer"}));
  EXPECT_EQ(headers.Get("Dat"), std::nullopt);
}

TEST(Headers, NothingThatBreaksALineIsFit) {
  EXPECT_TRUE(IsFieldName("X-a_1"));
  EXPECT_FALSE(IsFieldName(""));
  EXPECT_FALSE(IsFieldName("a b"));
  EXPECT_FALSE(IsFieldName("a:"));
  EXPECT_TRUE(IsFieldValue("Bearer a=b\t\xC3\xA4"));
  EXPECT_FALSE(IsFieldValue("a\r\nb: c"));
  EXPECT_FALSE(IsFieldValue(std::string_view("a\0b", 3)));
}

TEST(Method, NamesAreExact) {
  for (Method method : {Method::kGet, Method::kPost, Method::kPut, Method::kPatch, Method::kDelete}) {
    EXPECT_EQ(ParseMethod(MethodName(method)), method);
  }
  EXPECT_EQ(ParseMethod("HEAD"), Method::kGet);
  EXPECT_EQ(ParseMethod("get"), std::nullopt);
  EXPECT_EQ(ParseMethod("TRACE"), std::nullopt);
}

TEST(Responses, ErrorsAreJson) {
  ServerResponse response = ErrorResponse(400, "a \"quoted\"\n\xff");
  EXPECT_EQ(response.body, "{\"error\":\"a \\\"quoted\\\"\\n\xEF\xBF\xBD\"}\n");
  EXPECT_EQ(response.content_type, "application/json");
  EXPECT_EQ(NotFoundResponse("/x").status, 404);
  ServerResponse refused = MethodNotAllowedResponse({Method::kGet, Method::kPost});
  EXPECT_EQ(refused.status, 405);
  EXPECT_EQ(refused.headers.Get("allow"), "GET, HEAD, POST");
}

TEST(ServerRequest, TheFirstParameterOfAName) {
  ServerRequest request{.query = {{"a", "1"}, {"a", "2"}, {"b", ""}}, .headers = {}};
  EXPECT_EQ(request.Query("a"), "1");
  EXPECT_EQ(request.Query("b"), "");
  EXPECT_EQ(request.Query("c"), std::nullopt);
}

}  // namespace
}  // namespace prefetch::http::handler_test
