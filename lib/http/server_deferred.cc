// Deferred answers: connections whose answer is being made by a job, while libmicrohttpd has them suspended.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "http/server_loop.h"

namespace prefetch::http {
namespace {

// For a client that finds no room for a deferred answer. Most such answers take milliseconds.
constexpr std::chrono::seconds kRetryAfter{1};

}  // namespace

ServerResponse NoRoom(std::chrono::seconds retry_after) {
  ServerResponse response = ErrorResponse(503, "too many such requests at once; try again later");
  response.headers.Add("Retry-After", std::to_string(retry_after.count()));
  return response;
}

void Server::Loop::SweepDeferred(base::TimePoint now) {
  while (!deferred_.empty() && now >= EndOf(deferred_.front())) {
    GiveUp(deferred_.front(), ErrorResponse(504, "this took too long"));
  }
}

MHD_Result Server::Loop::Defer(MHD_Connection* mhd, Connection& connection, Deferred job, JobKind kind) {
  std::stop_source stop;
  auto now = std::chrono::steady_clock::now();
  std::uint64_t id = ++last_job_;
  if (!JobsOf(kind).Submit(id, std::move(job), {now + limits_.deferred_time, stop.get_token()})) {
    return Queue(mhd, connection, NoRoom(kRetryAfter));
  }
  connection.suspended = mhd;
  connection.job = id;
  connection.kind = kind;
  connection.stop = std::move(stop);
  connection.gone = false;
  connection.since = now;
  deferred_.splice(deferred_.end(), connections_, connection.self);
  MHD_suspend_connection(mhd);
  return MHD_YES;
}

void Server::Loop::Resume(Connection& connection, ServerResponse response) {
  connection.answer = std::move(response);
  connection.stop = std::stop_source(std::nostopstate);
  connection.since = std::chrono::steady_clock::now();
  connections_.splice(connections_.end(), deferred_, connection.self);
  MHD_resume_connection(std::exchange(connection.suspended, nullptr));
}

void Server::Loop::GiveUp(Connection& connection, ServerResponse response) {
  connection.stop.request_stop();
  JobsOf(connection.kind).Drop(connection.job);
  Resume(connection, std::move(response));
}

void Server::Loop::ResumeDone() {
  std::uint64_t count = 0;
  if (::read(wake_.get(), &count, sizeof count) < 0) return;  // no news
  for (ServerJobs* jobs : {slow_jobs_.get(), quick_jobs_.get()}) {
    for (ServerJobs::Done& done : jobs->TakeDone()) {
      auto found = std::find_if(deferred_.begin(), deferred_.end(),
                                [&](const Connection& connection) { return connection.job == done.id; });
      if (found != deferred_.end()) Resume(*found, std::move(done.response));  // else it was given up
    }
  }
}

void Server::Loop::StopForWhoeverLeft(const pollfd* seen) {
  for (auto next = deferred_.begin(); next != deferred_.end();) {
    Connection& connection = *next++;  // it may move to the other list
    if (!LooksForDeparture(connection) || (seen++)->revents == 0) continue;
    connection.gone = true;
    connection.stop.request_stop();
    // A job that runs keeps its connection until it has noticed; one that waits makes room at once.
    if (JobsOf(connection.kind).Drop(connection.job))
      Resume(connection, ErrorResponse(503, "the client went away"));
  }
}

void Server::Loop::EndDeferred() {
  if (slow_jobs_ == nullptr || quick_jobs_ == nullptr) return;  // it never started
  slow_jobs_->Close();                                          // before any ends and makes room for the next
  quick_jobs_->Close();
  for (Connection& connection : deferred_) connection.stop.request_stop();
  slow_jobs_.reset();
  quick_jobs_.reset();
  // libmicrohttpd must not be stopped with suspended connections.
  for (Connection& connection : deferred_) MHD_resume_connection(connection.suspended);
  connections_.splice(connections_.end(), deferred_);
}

}  // namespace prefetch::http
