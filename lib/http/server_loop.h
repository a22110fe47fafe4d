// Server::Loop: the event loop of a Server, with all state that its thread owns.
// ServerJobs: the threads on which a Server runs its deferred answers.
// Internal to http/.
#pragma once

#include <microhttpd.h>
#include <poll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mutex.h"
#include "http/handler.h"
#include "http/server.h"

namespace prefetch::http {

// Returns 503 with Retry-After, for a request without room.
ServerResponse OverloadedResponse();

// Runs the deferred answers of a Server. Each kind of job has threads of its own, so that none waits behind
// another kind. Within a kind, a client gets at most Limits::per_client threads, and only one once half of
// them are busy. The next job is one of the client with the fewest running jobs, and among these of the
// client that has waited longest since its last one. Without room for one more, the client with most waiting
// jobs loses its newest one.
//
// Owned by a Server's loop, which alone calls it; the jobs run on threads that start when they are first
// needed and take over its signal mask. A job is named by a number of the caller's choice.
class ServerJobs {
 public:
  struct Limits {
    unsigned threads = 0;     // of each kind but kCompute, which has one
    unsigned per_client = 0;  // of these; 0: no limit
    unsigned queue = 0;       // jobs of all kinds but kCompute that wait for a thread
  };
  struct Job {
    std::uint64_t id = 0;
    Deferred work;
    base::Call call;
    JobKind kind = JobKind::kRemote;
    std::string address;     // of the client; empty: no limit counts
    std::string group;       // as HandlerResult::group
    std::uint64_t turn = 0;  // of Submit's own: the smallest is next
  };
  struct Done {
    std::uint64_t id = 0;
    ServerResponse response;
  };

  // `wake` is written to (an eventfd, which outlives this object) whenever a job is done.
  ServerJobs(const Limits& limits, int wake);
  // Waits for the jobs that run: Close, and stop their calls, first.
  ~ServerJobs();
  ServerJobs(const ServerJobs&) = delete;
  ServerJobs& operator=(const ServerJobs&) = delete;

  // Queues the job. Returns false if there is no room for one more; it will not run then. A job whose result
  // is another job goes on as that one, with the same number.
  bool Submit(Job job) PREFETCH_EXCLUDES(mutex_);
  // Forgets a job that waits; false if it has begun (or ended) meanwhile: stopping it is its call's business.
  bool Drop(std::uint64_t id) PREFETCH_EXCLUDES(mutex_);
  // Drops the jobs that wait; none begins from now on.
  void Close() PREFETCH_EXCLUDES(mutex_);
  // The jobs that have ended since the last call, stopped ones included.
  std::vector<Done> TakeDone() PREFETCH_EXCLUDES(mutex_);

 private:
  struct Lane {
    unsigned most_threads = 0;
    unsigned threads = 0;
    unsigned running = 0;
    std::map<std::string, unsigned> running_by_client;  // running jobs, by Clients()
    base::Condition changed;
  };
  using Waiting = std::list<Job>;

  void Work(JobKind kind) PREFETCH_EXCLUDES(mutex_);
  Lane& LaneFor(JobKind kind) PREFETCH_REQUIRES(mutex_) { return lanes_[static_cast<std::size_t>(kind)]; }
  // Takes it into the queue and sees to a thread.
  bool Admit(Job job) PREFETCH_REQUIRES(mutex_);
  bool EvictFor(const Job& newest) PREFETCH_REQUIRES(mutex_);
  void EnsureThread(JobKind kind) PREFETCH_REQUIRES(mutex_);
  // The job that begins next; end(): none may begin now.
  Waiting::iterator Next(JobKind kind) PREFETCH_REQUIRES(mutex_);
  void Begin(const Job& job) PREFETCH_REQUIRES(mutex_);
  void End(const Job& job) PREFETCH_REQUIRES(mutex_);
  // Reports whether a client that has `running` threads of the lane may get one more.
  bool MayBegin(const Lane& lane, JobKind kind, unsigned running) const PREFETCH_REQUIRES(mutex_);
  void Wake() const;

  const Limits limits_;
  const int wake_;

  mutable base::Mutex mutex_;
  std::array<Lane, kJobKinds> lanes_ PREFETCH_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ PREFETCH_GUARDED_BY(mutex_);
  Waiting waiting_ PREFETCH_GUARDED_BY(mutex_);  // the oldest first
  std::uint64_t turns_ PREFETCH_GUARDED_BY(mutex_) = 0;
  std::vector<Done> done_ PREFETCH_GUARDED_BY(mutex_);
  bool ending_ PREFETCH_GUARDED_BY(mutex_) = false;
};

// One connection, and the request on it that is being read. Owned by one of the loop's lists.
struct Connection {
  int fd = -1;
  base::TimePoint since;      // of the accept, of the end of the last request, or of a deferred answer's step
  bool disconnected = false;  // cut by us; libmicrohttpd will notice and close it
  std::string peer;           // the client's address; empty: over a unix socket
  std::list<Connection>::iterator self;
  std::string target;         // as it came, from the request line
  bool headers_seen = false;  // the headers have been looked at
  bool too_long = false;
  bool no_room = false;                      // for its body
  BodyBudget::Reservation body_reservation;  // the memory of a long body
  std::string body;
  // A deferred answer. While its job is awaited libmicrohttpd has suspended the connection; once there is an
  // answer it is resumed, and libmicrohttpd asks for that answer as it asked for it the first time.
  MHD_Connection* suspended = nullptr;
  std::uint64_t job = 0;
  std::stop_source stop{std::nostopstate};
  bool client_gone = false;  // the client, as far as one can see
  std::optional<ServerResponse> answer;
  JobKind kind = JobKind::kRemote;  // of the job's first step
  // Memory of the kernel's buffer, from a long answer until the connection is closed.
  BodyBudget::Reservation buffer_reservation;
};

class Server::Loop {
 public:
  Loop(Listener listener, const ServerLimits& limits, Handler handler)
      : listener_(std::move(listener)), limits_(limits), handler_(std::move(handler)) {}
  ~Loop();

  base::Status Start();
  const Listener& listener() const { return listener_; }

 private:
  static void OnConnection(void* self, MHD_Connection* mhd, void** context,
                           MHD_ConnectionNotificationCode code);
  static void* OnTarget(void* self, const char* target, MHD_Connection* mhd);
  static MHD_Result OnRequest(void* self, MHD_Connection* mhd, const char* url, const char* method,
                              const char* version, const char* upload, std::size_t* upload_size,
                              void** context);
  static void OnCompleted(void* self, MHD_Connection* mhd, void** context, MHD_RequestTerminationCode code);

  void Run(const std::stop_token& stop);
  MHD_Result Receive(MHD_Connection* mhd, Connection& connection, const char* method, const char* upload,
                     std::size_t& upload_size);
  void ReadBody(Connection& connection, std::string_view part);
  HandlerResult Answer(MHD_Connection* mhd, Connection& connection, const char* method) const;
  void Opened(MHD_Connection* mhd, void** context);
  void Closed(Connection& connection);
  void Disconnect(Connection& connection);
  void Forget(const Connection& connection);  // as one of its address's
  // Cuts the oldest connection of `peer`, or of all for nullptr, that waits for no answer, if there is one.
  void DisconnectOldestOf(const std::string* peer);
  // Makes room for `newest`: cuts the oldest connection of its address if that has too many, or, near the
  // limit of all connections, the oldest one of the address with most of them.
  void EvictFor(const Connection& newest);
  void Renew(Connection& connection);
  // Cuts connections that are too old; returns when the next one will be.
  std::optional<base::TimePoint> Sweep(base::TimePoint now);
  // Gives up deferred answers that are too old. libmicrohttpd has to run afterwards.
  void SweepDeferred(base::TimePoint now);
  base::TimePoint DeadlineOf(const Connection& deferred) const {
    return deferred.since + limits_.deferred_time + limits_.deferred_grace;
  }
  // Returns the timeout for poll(2) until the next deadline, in milliseconds; -1: there is none.
  int PollTimeout();
  std::size_t Open() const { return connections_.size() + deferred_.size(); }

  // Admits it to the budget and hands it to libmicrohttpd.
  MHD_Result Queue(MHD_Connection* mhd, Connection& connection, ServerResponse response);
  bool GrowSendBuffer(Connection& connection);
  MHD_Result Defer(MHD_Connection* mhd, Connection& connection, HandlerResult answer);
  void Resume(Connection& connection, ServerResponse response);
  // Lets go of a client before its job has ended.
  void GiveUp(Connection& connection, ServerResponse response);
  void ResumeDone();
  // A kCompute job is not worth stopping: it ends within milliseconds, and a client that has closed its side
  // for sending may still read.
  static bool PollsForHangUp(const Connection& connection) {
    return !connection.client_gone && connection.kind != JobKind::kCompute;
  }
  // `seen` is what poll saw of the deferred connections whose client was there, in their order.
  void StopForDisconnectedClients(const pollfd* seen);
  void EndDeferred();

  const Listener listener_;
  const ServerLimits limits_;
  const Handler handler_;
  base::Fd wake_;
  MHD_Daemon* daemon_ = nullptr;
  std::list<Connection> connections_;                    // the longest waiting first
  std::list<Connection> deferred_;                       // those whose answer is being made, the oldest first
  std::map<std::string, unsigned> connections_by_peer_;  // connections that are not cut, by address
  std::uint64_t last_job_ = 0;
  std::unique_ptr<ServerJobs> jobs_;
  std::jthread thread_;
};

// Hands one answer to libmicrohttpd. `body` is sent, whatever `response` has; `held` is released once it has
// been sent or the client is gone. Returns false if there is no memory for it.
bool SendAnswer(MHD_Connection* connection, const ServerResponse& response, SharedBody body,
                BodyBudget::Reservation held);

}  // namespace prefetch::http
