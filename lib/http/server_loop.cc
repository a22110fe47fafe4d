#include "http/server_loop.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <system_error>

namespace prefetch::http {

namespace {

struct Sent {
  SharedBody body;
  BodyBudget::Reservation held;
};

void DeleteSent(void* sent) {
  delete static_cast<Sent*>(sent);
}

}  // namespace

bool SendAnswer(MHD_Connection* connection, const ServerResponse& response, SharedBody body,
                BodyBudget::Reservation held) {
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
  bool crowded =
      Open() > limits_.connections / 2 || (!listener_.local() && limits_.budget->IsUnderPressure());
  auto granted = crowded ? limits_.request_time / 10 : limits_.request_time;
  for (Connection& connection : connections_) {
    // It is cut already, and libmicrohttpd has not closed it yet.
    if (connection.disconnected) continue;
    if (now < connection.since + granted) return connection.since + granted;
    Disconnect(connection);
  }
  return std::nullopt;
}

void Server::Loop::Disconnect(Connection& connection) {
  // libmicrohttpd owns the descriptor. It notices the shutdown, closes the connection, and calls
  // OnConnection.
  ::shutdown(connection.fd, SHUT_RDWR);
  connection.disconnected = true;
  Forget(connection);
}

void Server::Loop::Forget(const Connection& connection) {
  auto count = connections_by_peer_.find(connection.peer);
  if (count != connections_by_peer_.end() && --count->second == 0) connections_by_peer_.erase(count);
}

void Server::Loop::DisconnectOldestOf(const std::string* peer) {
  auto oldest = std::find_if(connections_.begin(), connections_.end(), [&](const Connection& one) {
    return !one.disconnected && (peer == nullptr || one.peer == *peer);
  });
  if (oldest != connections_.end()) Disconnect(*oldest);
}

// Cuts the oldest connection of an address that has too many. Pods whose address is translated come from the
// node's own address, as kubelet's probes do, so the newest connection gets in.
void Server::Loop::EvictFor(const Connection& newest) {
  // Only root may open the unix socket, so its clients need no shares.
  if (listener_.local()) return;
  if (connections_by_peer_[newest.peer] > limits_.connections_per_address)
    return DisconnectOldestOf(&newest.peer);
  if (Open() <= limits_.connections - limits_.connections / 8) return;
  // Near the limit of all connections, the address with most of them gives one up. If none has two, a machine
  // with many addresses may have opened them all.
  auto busiest = std::max_element(connections_by_peer_.begin(), connections_by_peer_.end(),
                                  [](const auto& a, const auto& b) { return a.second < b.second; });
  DisconnectOldestOf(busiest->second > 1 ? &busiest->first : nullptr);
}

// Gives up deferred answers whose time is over. Their connections are suspended while a job makes the answer.
void Server::Loop::SweepDeferred(base::TimePoint now) {
  while (!deferred_.empty() && now >= DeadlineOf(deferred_.front())) {
    GiveUp(deferred_.front(), ErrorResponse(504, "this took too long"));
  }
}

// Suspends the connection while a thread of ServerJobs makes the answer. The loop goes on with other
// connections meanwhile.
MHD_Result Server::Loop::Defer(MHD_Connection* mhd, Connection& connection, HandlerResult answer) {
  std::stop_source stop;
  auto now = std::chrono::steady_clock::now();
  // A job has a number and no pointer to its connection: the connection may be gone when the job ends.
  std::uint64_t id = ++last_job_;
  const JobKind kind = answer.kind();
  ServerJobs::Job job{.id = id,
                      .call = {now + limits_.deferred_time, stop.get_token()},
                      .kind = kind,
                      .address = connection.peer,
                      .group = answer.group()};
  job.work = std::move(answer).TakeJob();
  if (!jobs_->Submit(std::move(job))) return Queue(mhd, connection, OverloadedResponse());
  connection.suspended = mhd;
  connection.job = id;
  connection.kind = kind;
  connection.stop = std::move(stop);
  connection.client_gone = false;
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
    if (!PollsForHangUp(connection) || (seen++)->revents == 0) continue;
    connection.client_gone = true;
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

ServerJobs::ServerJobs(const Limits& limits, int wake) : limits_(limits), wake_(wake) {
  base::Lock lock(mutex_);
  for (Lane& lane : lanes_) lane.most_threads = limits.threads;
  LaneFor(JobKind::kCompute).most_threads = 1;
}

void ServerJobs::Wake() const {
  std::uint64_t one = 1;
  [[maybe_unused]] auto written = ::write(wake_, &one, sizeof one);
}

void ServerJobs::Close() {
  Waiting dropped;  // destroyed without the lock
  base::Lock lock(mutex_);
  ending_ = true;
  // A job owns what its handler gave it, and its destructor may take a lock of the handler's.
  dropped.swap(waiting_);
  for (Lane& lane : lanes_) lane.changed.notify_all();
}

ServerJobs::~ServerJobs() {
  Close();
  std::vector<std::thread> threads;
  {
    base::Lock lock(mutex_);
    threads.swap(threads_);  // none is added from now on
  }
  for (std::thread& thread : threads) thread.join();
}

bool ServerJobs::Submit(Job job) {
  base::Lock lock(mutex_);
  return Admit(std::move(job));
}

// The job is queued before a thread is made for it, since EnsureThread counts waiting jobs. If no thread can
// be made, the job is taken back.
bool ServerJobs::Admit(Job job) {
  const JobKind kind = job.kind;
  if (ending_ || !EvictFor(job)) return false;
  job.turn = ++turns_;
  waiting_.push_back(std::move(job));
  EnsureThread(kind);
  if (LaneFor(kind).threads == 0) {  // the process may have no more threads
    // No thread would ever take the job.
    waiting_.pop_back();
    return false;
  }
  LaneFor(kind).changed.notify_one();
  return true;
}

// Makes a place in a full queue: the client with the most waiting jobs loses its newest one. So a client that
// floods the server displaces its own jobs, and a client with a single question gets in.
bool ServerJobs::EvictFor(const Job& newest) {
  if (newest.kind == JobKind::kCompute) return true;
  const auto counts = [](const Job& job) { return job.kind != JobKind::kCompute; };
  const auto waiting = static_cast<unsigned>(std::count_if(waiting_.begin(), waiting_.end(), counts));
  if (limits_.threads == 0) return false;
  // Beyond this, a client with many waiting jobs has to give one up for a client with fewer.
  if (waiting + LaneFor(newest.kind).running < limits_.threads + limits_.queue) return true;
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
  done_.push_back({last->id, OverloadedResponse()});
  waiting_.erase(std::next(last).base());
  Wake();
  return true;
}

void ServerJobs::EnsureThread(JobKind kind) {
  Lane& lane = LaneFor(kind);
  const auto waiting = static_cast<unsigned>(
      std::count_if(waiting_.begin(), waiting_.end(), [kind](const Job& job) { return job.kind == kind; }));
  // Threads are created when there is work for one more, since most servers never defer an answer.
  if (lane.threads >= lane.most_threads || waiting + lane.running <= lane.threads) return;
  try {
    threads_.emplace_back([this, kind] { Work(kind); });
    lane.threads++;
  } catch (const std::system_error&) {  // the process may have no more threads: those that are there must do
  }
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
  if (kind == JobKind::kCompute || limits_.per_client == 0 || running == 0) return true;
  return running < limits_.per_client && lane.running < lane.most_threads / 2;
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

void ServerJobs::Work(JobKind kind) {
  while (true) {
    Job job;
    {
      base::Lock lock(mutex_);
      auto next = Next(kind);
      // A waiting job may belong to a client that has its share. It begins when one of that client's jobs
      // ends.
      while (next == waiting_.end() && !ending_) {
        LaneFor(kind).changed.wait(mutex_);
        next = Next(kind);
      }
      if (ending_) return;
      // The job leaves the queue and begins under one lock, so that Drop finds it either waiting or running.
      job = std::move(*next);
      waiting_.erase(next);
      Begin(job);
    }
    HandlerResult answer = Run(job.work, job.call);
    job.work = nullptr;  // it is gone, with all that it holds, before its answer is seen
    base::Lock lock(mutex_);
    End(job);
    LaneFor(kind).changed.notify_one();  // for a client that had its share
    if (answer.deferred()) {
      Job rest{.id = job.id,
               .call = job.call,
               .kind = answer.kind(),
               .address = job.address,
               .group = answer.group()};
      rest.work = std::move(answer).TakeJob();
      // The next step belongs to another kind, and waits for a thread of that kind like a new job.
      if (!job.call.Stopped() && Admit(std::move(rest))) continue;
      answer = OverloadedResponse();
    }
    done_.push_back({job.id, std::move(answer).TakeResponse()});
    Wake();
  }
}

}  // namespace prefetch::http
