// HTTP/2, by nghttpx in front of the fake registry: libmicrohttpd and our own fakes speak HTTP/1.1 alone.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "fakes/certificates.h"
#include "rig/expect_ok.h"
#include "rig/port.h"
#include "rig/process.h"
#include "rig/scratch.h"
#include "world.h"

namespace prefetch::registry::http2_test {
namespace {

class Http2Test : public tests::RegistryWorld {
 protected:
  Http2Test() : ca_(scratch_.path(), "ca") {
    tests::KeyPair pair = ca_.Server("server");
    auto port = rig::FreePort();
    EXPECT_TRUE(port);
    port_ = port ? *port : 0;
    EXPECT_OK(nghttpx_.Start({.argv = {"/usr/sbin/nghttpx", "--conf=/dev/null", "--no-ocsp", "--workers=1",
                                       "--frontend=127.0.0.1," + std::to_string(port_),
                                       "--backend=127.0.0.1," + std::to_string(registry_.port()),
                                       pair.key_file, pair.certificate_file}},
                             scratch_ / "nghttpx.log"));
    EXPECT_TRUE(rig::Eventually(std::chrono::seconds(20), [&] { return rig::SomebodyListens(port_); }));
    std::string folder = scratch_ / "certs/" + Address();
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/hosts.toml")
        << "server = \"https://" << Address() << "\"\nca = \"" << ca_.certificate_file() << "\"\n";
    ClientOptions options = tests::QuickOptions();
    options.hosts.runtime = {.containerd_version = "1.7.32", .config_path = scratch_ / "certs"};
    Make(std::move(options));
  }
  std::string Address() const { return "127.0.0.1:" + std::to_string(port_); }

  rig::Scratch scratch_;
  tests::CertificateAuthority ca_;
  int port_ = 0;
  rig::Process nghttpx_;
};

TEST_F(Http2Test, IsSpokenWhereItIsOffered) {
  std::string digest = registry_.Put("app", "v1");
  registry_.DemandPassword("me", "secret");
  for (int i = 0; i < 3; i++) {
    auto answer = Ask(Address() + "/app:v1", {User("me", "secret")}, {digest});
    EXPECT_EQ(Word(answer), "Same") << answer.message;
  }
  EXPECT_EQ(Word(Ask(Address() + "/app:v2", {User("me", "secret")})), "TagMissing");
  ASSERT_FALSE(registry_.requests().empty());
  for (const auto& request : registry_.requests()) {
    EXPECT_EQ(request.headers.Get("Via"), "2 nghttpx") << request.target;  // how it was asked
  }
}

}  // namespace
}  // namespace prefetch::registry::http2_test
