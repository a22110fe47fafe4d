// ServerJobs: the threads on which a Server runs its deferred answers. Internal to http/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/call.h"
#include "base/mutex.h"
#include "base/workers.h"
#include "http/handler.h"
#include "http/server.h"

namespace prefetch::http {

// Returns 503 with Retry-After, for a request without room.
ServerResponse OverloadedResponse();

// Runs the deferred answers of a Server. Each kind of job has threads of its own, so that none waits behind
// another kind. Within a kind, a client gets at most ServerLimits::deferred_per_client threads, and only one
// once half of them are busy. The next job is one of the client with the fewest running jobs, and among these
// of the client that has waited longest since its last one. Without room for one more, the client with most
// waiting jobs loses its newest one.
//
// Owned by a Server's loop, which alone calls it; the jobs run on threads that start when they are first
// needed and take over its signal mask. A job is named by a number of the caller's choice.
class ServerJobs {
 public:
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

  // The limits of deferred answers are those of each kind but kCompute, which has one thread and refuses
  // none. `wake` is written to (an eventfd; as `limits`, it outlives this object) whenever a job is done.
  ServerJobs(const ServerLimits& limits, int wake);
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
  // The jobs of one kind.
  struct Lane {
    unsigned most_threads = 0;
    unsigned called = 0;  // threads that take jobs until none may begin
    unsigned running = 0;
    std::map<std::string, unsigned> running_by_client;  // running jobs, by Clients()
    std::optional<base::Workers> workers;
  };
  using Waiting = std::list<Job>;

  Lane& LaneFor(JobKind kind) PREFETCH_REQUIRES(mutex_) { return lanes_[static_cast<std::size_t>(kind)]; }
  // Takes it into the queue, and gets a thread for what may begin.
  bool Admit(Job job) PREFETCH_REQUIRES(mutex_);
  bool EvictFor(const Job& newest) PREFETCH_REQUIRES(mutex_);
  // Gets a thread for a job that may begin now.
  bool CallThread(JobKind kind) PREFETCH_REQUIRES(mutex_);
  // Returns the job that begins now, on the calling thread; nullopt: none may.
  std::optional<Job> Take(JobKind kind) PREFETCH_EXCLUDES(mutex_);
  // Runs a job that has begun.
  void Perform(Job& job) PREFETCH_EXCLUDES(mutex_);
  // The job that begins next; end(): none may begin now.
  Waiting::iterator Next(JobKind kind) PREFETCH_REQUIRES(mutex_);
  void Begin(const Job& job) PREFETCH_REQUIRES(mutex_);
  void End(const Job& job) PREFETCH_REQUIRES(mutex_);
  // Reports whether a client that has `running` threads of the lane may get one more.
  bool MayBegin(const Lane& lane, JobKind kind, unsigned running) const PREFETCH_REQUIRES(mutex_);
  void Finish(std::uint64_t id, ServerResponse response) PREFETCH_REQUIRES(mutex_);

  const ServerLimits& limits_;
  const int wake_;

  mutable base::Mutex mutex_;
  std::array<Lane, kJobKinds> lanes_ PREFETCH_GUARDED_BY(mutex_);
  Waiting waiting_ PREFETCH_GUARDED_BY(mutex_);  // the oldest first
  std::uint64_t turns_ PREFETCH_GUARDED_BY(mutex_) = 0;
  std::vector<Done> done_ PREFETCH_GUARDED_BY(mutex_);
  bool ending_ PREFETCH_GUARDED_BY(mutex_) = false;
};

}  // namespace prefetch::http
