#include "bench/content_writer.h"

#include <utility>

#include "containerd_content_v1.grpc.pb.h"
#include "cri/rpc.h"

namespace prefetch::bench {
namespace {

namespace content = ::containerd::services::content::v1;

}  // namespace

struct ContentStore::Connection {
  Connection(const std::string& socket, std::string of_lease)
      : channel({socket}, "fetch"),
        stub(content::Content::NewStub(channel.grpc())),
        lease(std::move(of_lease)) {}

  cri::RpcChannel channel;
  std::unique_ptr<content::Content::Stub> stub;
  const std::string lease;
};

struct ContentStore::Writer::Stream {
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<content::WriteContentRequest, content::WriteContentResponse>>
      calls;
  bool over = false;

  bool Exchange(const content::WriteContentRequest& request, content::WriteContentResponse& response) {
    return calls->Write(request) && calls->Read(&response);
  }
  grpc::Status Finish() {
    over = true;
    calls->WritesDone();
    return calls->Finish();
  }
};

ContentStore::ContentStore(const std::string& socket, std::string lease)
    : connection_(std::make_unique<Connection>(socket, std::move(lease))) {}
ContentStore::~ContentStore() = default;

std::unique_ptr<ContentStore::Writer> ContentStore::Open(BlobToWrite blob) {
  auto stream = std::make_unique<Writer::Stream>();
  stream->context.AddMetadata(cri::kNamespaceHeader, cri::kKubernetesNamespace);
  stream->context.AddMetadata(cri::kLeaseHeader, connection_->lease);
  stream->calls = connection_->stub->Write(&stream->context);
  return std::make_unique<Writer>(std::move(blob), std::move(stream));
}

ContentStore::Writer::Writer(BlobToWrite blob, std::unique_ptr<Stream> stream)
    : blob_(std::move(blob)), stream_(std::move(stream)) {}

ContentStore::Writer::~Writer() {
  if (stream_->over) return;
  stream_->context.TryCancel();
  (void)stream_->Finish();
}

base::Status ContentStore::Writer::Failure(const std::string& what) {
  grpc::Status status = stream_->Finish();
  return base::Unavailable(what + " " + blob_.ref + ": " + status.error_message());
}

base::Result<std::uint64_t> ContentStore::Writer::Begin() {
  content::WriteContentRequest request;
  request.set_action(content::STAT);
  request.set_ref(blob_.ref);
  request.set_expected(blob_.digest);
  request.set_total(static_cast<std::int64_t>(blob_.size));
  content::WriteContentResponse response;
  if (!stream_->Exchange(request, response)) {
    grpc::Status status = stream_->Finish();
    if (status.error_code() == grpc::StatusCode::ALREADY_EXISTS) return blob_.size;
    return base::Unavailable("open " + blob_.ref + ": " + status.error_message());
  }
  offset_ = static_cast<std::uint64_t>(response.offset());
  return offset_;
}

base::Status ContentStore::Writer::Append(std::string bytes) {
  content::WriteContentRequest request;
  request.set_action(content::WRITE);
  request.set_offset(static_cast<std::int64_t>(offset_));
  offset_ += bytes.size();
  request.set_data(std::move(bytes));
  content::WriteContentResponse response;
  return stream_->Exchange(request, response) ? base::Status() : Failure("write");
}

base::Status ContentStore::Writer::Commit() {
  content::WriteContentRequest request;
  request.set_action(content::COMMIT);
  request.set_total(static_cast<std::int64_t>(blob_.size));
  request.set_offset(static_cast<std::int64_t>(offset_));
  request.set_expected(blob_.digest);
  for (const auto& [name, value] : blob_.labels) (*request.mutable_labels())[name] = value;
  content::WriteContentResponse response;
  if (!stream_->Exchange(request, response)) {
    grpc::Status status = stream_->Finish();
    if (status.error_code() == grpc::StatusCode::ALREADY_EXISTS) return {};
    return base::Unavailable("commit " + blob_.ref + ": " + status.error_message());
  }
  return {};
}

}  // namespace prefetch::bench
