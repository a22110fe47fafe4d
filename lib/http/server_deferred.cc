// Deferred answers: connections whose answer is being made by a job, while libmicrohttpd has them suspended.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "http/server_loop.h"

namespace prefetch::http {

void Server::Loop::SweepDeferred(base::TimePoint now) {
  while (!deferred_.empty() && now >= EndOf(deferred_.front())) {
    GiveUp(deferred_.front(), ErrorResponse(504, "this took too long"));
  }
}

MHD_Result Server::Loop::Defer(MHD_Connection* mhd, Connection& connection, ServerAnswer answer) {
  std::stop_source stop;
  auto now = std::chrono::steady_clock::now();
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
    // A job that runs keeps its connection until it has noticed; one that waits makes room at once.
    if (jobs_->Drop(connection.job)) Resume(connection, ErrorResponse(503, "the client went away"));
  }
}

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
