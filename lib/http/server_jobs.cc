#include "http/server_jobs.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <system_error>
#include <utility>

namespace prefetch::http {

namespace {

// Retry-After of a client that finds no room. Most answers take milliseconds.
constexpr std::chrono::seconds kRetryAfter{1};

HandlerResult Run(const Deferred& work, const base::Call& call) {
  try {
    return work(call);
  } catch (...) {
    return ErrorResponse(500, "this request could not be answered");
  }
}

// Returns the clients to whose share the job counts: its address, and the group that its handler names.
std::vector<std::string> Clients(const ServerJobs::Job& job) {
  std::vector<std::string> clients;
  if (!job.address.empty()) clients.push_back("address " + job.address);
  if (!job.group.empty()) clients.push_back("group " + job.group);
  return clients;
}

}  // namespace

ServerResponse OverloadedResponse() {
  ServerResponse response = ErrorResponse(503, "too many such requests at once; try again later");
  response.headers.Add("Retry-After", std::to_string(kRetryAfter.count()));
  return response;
}

ServerJobs::ServerJobs(const ServerLimits& limits, int wake) : limits_(limits), wake_(wake) {
  base::Lock lock(mutex_);
  for (Lane& lane : lanes_) lane.most_threads = limits.deferred_threads;
  LaneFor(JobKind::kCompute).most_threads = 1;
  for (Lane& lane : lanes_) lane.workers.emplace(static_cast<int>(lane.most_threads));
}

void ServerJobs::Finish(std::uint64_t id, ServerResponse response) {
  done_.push_back({id, std::move(response)});
  std::uint64_t one = 1;
  [[maybe_unused]] auto written = ::write(wake_, &one, sizeof one);
}

void ServerJobs::Close() {
  Waiting dropped;  // destroyed without the lock
  base::Lock lock(mutex_);
  ending_ = true;
  // A job owns what its handler gave it, and its destructor may take a lock of the handler's.
  dropped.swap(waiting_);
}

ServerJobs::~ServerJobs() {
  Close();
  for (Lane& lane : lanes_) lane.workers.reset();  // without the lock, which their threads need to end
}

bool ServerJobs::Submit(Job job) {
  base::Lock lock(mutex_);
  return Admit(std::move(job));
}

bool ServerJobs::Admit(Job job) {
  const JobKind kind = job.kind;
  if (ending_ || !EvictFor(job)) return false;
  job.turn = ++turns_;
  waiting_.push_back(std::move(job));
  if (CallThread(kind)) return true;
  waiting_.pop_back();
  return false;
}

// Makes a place in a full queue: the client with the most waiting jobs loses its newest one. So a client that
// floods the server displaces its own jobs, and a client with a single question gets in.
bool ServerJobs::EvictFor(const Job& newest) {
  if (newest.kind == JobKind::kCompute) return true;
  const auto counts = [](const Job& job) { return job.kind != JobKind::kCompute; };
  const auto waiting = static_cast<unsigned>(std::count_if(waiting_.begin(), waiting_.end(), counts));
  if (limits_.deferred_threads == 0) return false;
  // Beyond this, a client with many waiting jobs has to give one up for a client with fewer.
  if (waiting + LaneFor(newest.kind).running < limits_.deferred_threads + limits_.deferred_queue) return true;
  std::map<std::string, unsigned> shares;
  for (const Job& job : waiting_) {
    if (!counts(job)) continue;
    for (const std::string& client : Clients(job)) shares[client]++;
  }
  if (shares.empty()) return false;
  unsigned own = 0;
  for (const std::string& client : Clients(newest)) {
    if (auto share = shares.find(client); share != shares.end()) own = std::max(own, share->second);
  }
  const auto largest = std::max_element(shares.begin(), shares.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  // The newcomer must not have as many as the one that gives way: otherwise two clients would displace each
  // other without end.
  if (own + 1 >= largest->second) return false;
  const auto of_largest = [&](const Job& job) {
    const std::vector<std::string> clients = Clients(job);
    return counts(job) && std::find(clients.begin(), clients.end(), largest->first) != clients.end();
  };
  // The newest of them goes: the others have waited longer.
  const auto last = std::find_if(waiting_.rbegin(), waiting_.rend(), of_largest);
  Finish(last->id, OverloadedResponse());
  waiting_.erase(std::next(last).base());
  return true;
}

// A job that may not begin belongs to a client that has its share: a thread takes it when one of that
// client's jobs ends. Returns false if there is no thread, and none can be made.
bool ServerJobs::CallThread(JobKind kind) {
  Lane& lane = LaneFor(kind);
  if (lane.called == lane.most_threads || Next(kind) == waiting_.end()) return true;
  try {
    lane.workers->Submit([this, kind] {
      while (std::optional<Job> job = Take(kind)) Perform(*job);
    });
  } catch (const std::system_error&) {  // the process may have no more threads
    return lane.called > 0;
  }
  lane.called++;
  return true;
}

// A job is taken by the thread that runs it: however few there are, the others keep their order, and can be
// dropped.
std::optional<ServerJobs::Job> ServerJobs::Take(JobKind kind) {
  base::Lock lock(mutex_);
  const auto next = ending_ ? waiting_.end() : Next(kind);
  if (next == waiting_.end()) {
    LaneFor(kind).called--;
    return std::nullopt;
  }
  std::optional<Job> job(std::move(*next));
  waiting_.erase(next);
  Begin(*job);
  CallThread(kind);  // for the next one that may begin
  return job;
}

bool ServerJobs::Drop(std::uint64_t id) {
  Deferred dropped;  // destroyed without the lock
  base::Lock lock(mutex_);
  auto found = std::find_if(waiting_.begin(), waiting_.end(), [id](const Job& job) { return job.id == id; });
  if (found == waiting_.end()) return false;
  dropped = std::move(found->work);
  waiting_.erase(found);
  return true;
}

std::vector<ServerJobs::Done> ServerJobs::TakeDone() {
  base::Lock lock(mutex_);
  std::vector<Done> done;
  done.swap(done_);
  return done;
}

// Returns the job of the client with the fewest running jobs, and of equals the one that has waited longest.
ServerJobs::Waiting::iterator ServerJobs::Next(JobKind kind) {
  const Lane& lane = LaneFor(kind);
  auto best = waiting_.end();
  unsigned fewest = 0;
  for (auto job = waiting_.begin(); job != waiting_.end(); ++job) {
    if (job->kind != kind) continue;
    unsigned most = 0;
    for (const std::string& client : Clients(*job)) {
      if (auto running = lane.running_by_client.find(client); running != lane.running_by_client.end()) {
        most = std::max(most, running->second);
      }
    }
    if (!MayBegin(lane, kind, most)) continue;
    if (best == waiting_.end() || std::pair(most, job->turn) < std::pair(fewest, best->turn)) {
      best = job;
      fewest = most;
    }
  }
  return best;
}

// A client's first job may always begin. Further ones begin only while half of the threads are free, which
// leaves threads to other clients.
bool ServerJobs::MayBegin(const Lane& lane, JobKind kind, unsigned running) const {
  if (kind == JobKind::kCompute || limits_.deferred_per_client == 0 || running == 0) return true;
  return running < limits_.deferred_per_client && lane.running < lane.most_threads / 2;
}

void ServerJobs::Begin(const Job& job) {
  Lane& lane = LaneFor(job.kind);
  lane.running++;
  for (const std::string& client : Clients(job)) lane.running_by_client[client]++;
}

void ServerJobs::End(const Job& job) {
  Lane& lane = LaneFor(job.kind);
  lane.running--;
  const std::vector<std::string> ended = Clients(job);
  for (const std::string& client : ended) {
    if (auto found = lane.running_by_client.find(client); --found->second == 0)
      lane.running_by_client.erase(found);
  }
  // Clients whose jobs have waited meanwhile come before the next job of this one.
  turns_++;
  for (Job& waiting : waiting_) {
    if (waiting.kind != job.kind) continue;
    const std::vector<std::string> clients = Clients(waiting);
    if (std::find_first_of(clients.begin(), clients.end(), ended.begin(), ended.end()) != clients.end()) {
      waiting.turn = turns_;
    }
  }
}

void ServerJobs::Perform(Job& job) {
  HandlerResult answer = Run(job.work, job.call);
  job.work = nullptr;  // it is gone, with all that it holds, before its answer is seen
  base::Lock lock(mutex_);
  End(job);
  bool goes_on = false;
  if (answer.deferred()) {
    Job rest{.id = job.id,
             .call = job.call,
             .kind = answer.kind(),
             .address = job.address,
             .group = answer.group()};
    rest.work = std::move(answer).TakeJob();
    // The next step belongs to another kind, and waits for a thread of that kind like a new job.
    goes_on = !job.call.Stopped() && Admit(std::move(rest));
    answer = OverloadedResponse();
  }
  if (!goes_on) Finish(job.id, std::move(answer).TakeResponse());
}

}  // namespace prefetch::http
