#include "http/server_loop.h"

#include <microhttpd.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace prefetch::http {

namespace {

struct Sent {
  SharedBody body;
  BodyBudget::Held held;
};

void DeleteSent(void* sent) {
  delete static_cast<Sent*>(sent);
}

}  // namespace

bool SendAnswer(MHD_Connection* connection, const ServerResponse& response, SharedBody body,
                BodyBudget::Held held) {
  auto* sent = new Sent{std::move(body), std::move(held)};
  // libmicrohttpd only reads the body; its signature is older than const.
  MHD_Response* message = MHD_create_response_from_buffer_with_free_callback_cls(
      sent->body->size(), const_cast<char*>(sent->body->data()), &DeleteSent, sent);
  if (message == nullptr) {
    delete sent;
    return false;
  }
  MHD_add_response_header(message, "Content-Type", response.content_type.c_str());
  MHD_add_response_header(message, "Cache-Control", "no-store");
  MHD_add_response_header(message, "X-Content-Type-Options", "nosniff");
  for (const auto& field : response.headers.fields()) {
    // A value may come from a request. A line break in it would begin a header of the client's choice.
    if (!IsFieldName(field.first) || !IsFieldValue(field.second)) continue;
    MHD_add_response_header(message, field.first.c_str(), field.second.c_str());
  }
  MHD_Result queued = MHD_queue_response(connection, static_cast<unsigned>(response.status), message);
  // This gives up the reference of this function only. DeleteSent runs when the answer has been sent.
  MHD_destroy_response(message);
  return queued == MHD_YES;
}

// Cuts connections that have had their time, so that there is room for others. The list is in order of time,
// so the first one that may stay ends the loop.
std::optional<base::TimePoint> Server::Loop::Sweep(base::TimePoint now) {
  bool crowded = Open() > limits_.connections / 2 || (!listener_.local() && limits_.budget->Crowded());
  auto granted = crowded ? limits_.request_time / 10 : limits_.request_time;
  for (Connection& connection : connections_) {
    // It is cut already, and libmicrohttpd has not closed it yet.
    if (connection.shut) continue;
    if (now < connection.since + granted) return connection.since + granted;
    Shut(connection);
  }
  return std::nullopt;
}

void Server::Loop::Shut(Connection& connection) {
  // libmicrohttpd owns the descriptor. It notices the shutdown, closes the connection, and calls
  // OnConnection.
  ::shutdown(connection.fd, SHUT_RDWR);
  connection.shut = true;
  Forget(connection);
}

void Server::Loop::Forget(const Connection& connection) {
  auto count = of_peer_.find(connection.peer);
  if (count != of_peer_.end() && --count->second == 0) of_peer_.erase(count);
}

void Server::Loop::ShutOldestOf(const std::string* peer) {
  auto oldest = std::find_if(connections_.begin(), connections_.end(), [&](const Connection& one) {
    return !one.shut && (peer == nullptr || one.peer == *peer);
  });
  if (oldest != connections_.end()) Shut(*oldest);
}

// Cuts the oldest connection of an address that has too many. Pods whose address is translated come from the
// node's own address, as kubelet's probes do, so the newest connection gets in.
void Server::Loop::MakeRoomFor(const Connection& newest) {
  // Only root may open the unix socket, so its clients need no shares.
  if (listener_.local()) return;
  if (of_peer_[newest.peer] > limits_.connections_per_address) return ShutOldestOf(&newest.peer);
  if (Open() <= limits_.connections - limits_.connections / 8) return;
  // Near the limit of all connections, the address with most of them gives one up. If none has two, a machine
  // with many addresses may have opened them all.
  auto busiest = std::max_element(of_peer_.begin(), of_peer_.end(),
                                  [](const auto& a, const auto& b) { return a.second < b.second; });
  ShutOldestOf(busiest->second > 1 ? &busiest->first : nullptr);
}

// Gives up deferred answers whose time is over. Their connections are suspended while a job makes the answer.
void Server::Loop::SweepDeferred(base::TimePoint now) {
  while (!deferred_.empty() && now >= EndOf(deferred_.front())) {
    GiveUp(deferred_.front(), ErrorResponse(504, "this took too long"));
  }
}

// Suspends the connection while a thread of ServerJobs makes the answer. The loop goes on with other
// connections meanwhile.
MHD_Result Server::Loop::Defer(MHD_Connection* mhd, Connection& connection, ServerAnswer answer) {
  std::stop_source stop;
  auto now = std::chrono::steady_clock::now();
  // A job has a number and no pointer to its connection: the connection may be gone when the job ends.
  std::uint64_t id = ++last_job_;
  const JobKind kind = answer.kind();
  ServerJobs::Job job{.id = id,
                      .work = nullptr,
                      .call = {now + limits_.deferred_time, stop.get_token()},
                      .kind = kind,
                      .address = connection.peer,
                      .group = answer.group()};
  job.work = std::move(answer).TakeJob();
  if (!jobs_->Submit(std::move(job))) return Queue(mhd, connection, NoRoom());
  connection.suspended = mhd;
  connection.job = id;
  connection.kind = kind;
  connection.stop = std::move(stop);
  connection.gone = false;
  connection.since = now;
  // Splicing keeps the object at its address, to which libmicrohttpd has a pointer.
  deferred_.splice(deferred_.end(), connections_, connection.self);
  MHD_suspend_connection(mhd);
  return MHD_YES;
}

void Server::Loop::Resume(Connection& connection, ServerResponse response) {
  connection.answer = std::move(response);
  connection.stop = std::stop_source(std::nostopstate);
  // The clock of the request begins anew for the sending of the answer.
  connection.since = std::chrono::steady_clock::now();
  connections_.splice(connections_.end(), deferred_, connection.self);
  MHD_resume_connection(std::exchange(connection.suspended, nullptr));
}

void Server::Loop::GiveUp(Connection& connection, ServerResponse response) {
  connection.stop.request_stop();
  // If it has begun already, only the stop reaches it. Its result is then for nobody (ResumeDone).
  jobs_->Drop(connection.job);
  Resume(connection, std::move(response));
}

void Server::Loop::ResumeDone() {
  std::uint64_t count = 0;
  if (::read(wake_.get(), &count, sizeof count) < 0) return;  // no news
  for (ServerJobs::Done& done : jobs_->TakeDone()) {
    auto found = std::find_if(deferred_.begin(), deferred_.end(),
                              [&](const Connection& connection) { return connection.job == done.id; });
    if (found != deferred_.end()) Resume(*found, std::move(done.response));  // else it was given up
  }
}

void Server::Loop::StopForDisconnectedClients(const pollfd* seen) {
  for (auto next = deferred_.begin(); next != deferred_.end();) {
    Connection& connection = *next++;  // it may move to the other list
    if (!LooksForDeparture(connection) || (seen++)->revents == 0) continue;
    connection.gone = true;
    connection.stop.request_stop();
    // A running job keeps its connection until it has noticed the stop. A job that waits makes room at once.
    if (jobs_->Drop(connection.job)) Resume(connection, ErrorResponse(503, "the client went away"));
  }
}

// The order matters: new jobs are refused, running ones are stopped and awaited, and only then are their
// connections given back to libmicrohttpd.
void Server::Loop::EndDeferred() {
  if (jobs_ == nullptr) return;  // it never started
  jobs_->Close();                // before any ends and makes room for the next
  for (Connection& connection : deferred_) connection.stop.request_stop();
  jobs_.reset();
  // libmicrohttpd must not be stopped with suspended connections.
  for (Connection& connection : deferred_) MHD_resume_connection(connection.suspended);
  connections_.splice(connections_.end(), deferred_);
}

}  // namespace prefetch::http
