/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams: a thread and a queue each. Launches and host calls run in order.
 */
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <mutex>
#include <new>
#include <sys/prctl.h>
#include <thread>

#include "simt.h"
#include "simt_attach.h"
#include "simt_sched.h"

/* `lock` guards everything but `stacks` and `thread`, which only the worker and destroy use. */
struct simt_stream {
	std::mutex lock;
	std::condition_variable wake;	 /* worker: work came, or stop */
	std::condition_variable drained; /* waiters: nothing queued, nothing running */
	std::deque<std::function<void(simt_stream *)>> queue;
	bool busy = false;
	bool stop = false;
	int error = SIMT_SUCCESS;
	simt_launch_stats stats = {};
	simt::stack_pool stacks;
	simt::heartbeat beat; /* atomics: written by the worker, read by anybody */
	std::thread thread;
};

static const char *const error_text[SIMT_ERR_MAX] = {
	[SIMT_SUCCESS] = "success",
	[SIMT_ERR_INVALID] = "invalid argument",
	[SIMT_ERR_NO_MEMORY] = "out of memory",
	[SIMT_ERR_NOT_READY] = "work is left",
	[SIMT_ERR_DEADLOCK] = "deadlock: no thread can run",
	[SIMT_ERR_COLLECTIVE] = "a warp collective was used against its rules",
	[SIMT_ERR_TIMEOUT] = "no thread made progress within the watchdog's time",
};

const char *simt_strerror(int error)
{
	return error >= 0 && error < SIMT_ERR_MAX ? error_text[error] : "unknown error";
}

static void stream_main(simt_stream *s)
{
	std::unique_lock<std::mutex> guard(s->lock);

	/* short naps must be short: the default slack is 50 us */
	prctl(PR_SET_TIMERSLACK, 1000ul, 0, 0, 0);
	while (true) {
		s->wake.wait(guard, [s] { return s->stop || !s->queue.empty(); });
		if (s->queue.empty())
			return;
		auto work = std::move(s->queue.front());

		s->queue.pop_front();
		s->busy = true;
		guard.unlock();
		work(s);
		work = nullptr; /* frees what it holds before anybody is told */
		guard.lock();
		s->busy = false;
		if (s->queue.empty())
			s->drained.notify_all();
	}
}

int simt_stream_create(struct simt_stream **stream)
{
	if (stream == nullptr)
		return SIMT_ERR_INVALID;
	try {
		std::unique_ptr<simt_stream> s(new simt_stream);

		s->thread = std::thread(stream_main, s.get());
		*stream = s.release();
	} catch (const std::exception &) {
		return SIMT_ERR_NO_MEMORY;
	}
	return SIMT_SUCCESS;
}

static void stream_stop(simt_stream *s)
{
	{
		std::lock_guard<std::mutex> guard(s->lock);

		s->stop = true;
		s->wake.notify_all();
	}
	s->thread.join();
}

int simt_stream_destroy(struct simt_stream *stream)
{
	if (stream == nullptr)
		return SIMT_ERR_INVALID;
	stream_stop(stream);
	delete stream;
	return SIMT_SUCCESS;
}

/* Made at first use, never destroyed: its worker may still run when the process exits. */
static simt_stream *default_stream()
{
	static simt_stream *s = [] {
		simt_stream *made = nullptr;

		return simt_stream_create(&made) == SIMT_SUCCESS ? made : nullptr;
	}();
	return s;
}

static int enqueue(simt_stream *s, std::function<void(simt_stream *)> work)
{
	if (s == nullptr)
		s = default_stream();
	if (s == nullptr)
		return SIMT_ERR_NO_MEMORY;
	std::lock_guard<std::mutex> guard(s->lock);

	s->queue.push_back(std::move(work));
	s->wake.notify_one();
	return SIMT_SUCCESS;
}

/* a * b * c, or 0 when a factor is 0 or the product passes `limit` */
static uint64_t volume(const simt_dim3 &d, uint64_t limit)
{
	uint64_t n = d.x;

	for (uint64_t factor : {(uint64_t)d.y, (uint64_t)d.z}) {
		if (n == 0 || n > limit)
			return 0;
		n *= factor;
	}
	return n <= limit ? n : 0;
}

int simt_launch(const struct simt_launch_config *config, simt_kernel_fn fn, void *arg,
		void (*free_arg)(void *))
{
	if (config == nullptr || fn == nullptr || volume(config->grid, 1u << 31) == 0 ||
	    volume(config->block, simt::max_block_threads) == 0 ||
	    config->shared_bytes > (1u << 20))
		return SIMT_ERR_INVALID;
	simt_launch_config cfg = *config;

	try {
		return enqueue(cfg.stream, [cfg, fn, arg, free_arg](simt_stream *s) {
			simt_launch_stats stats;
			int error = simt::grid_run(cfg, fn, arg, &s->stacks, &s->beat, &stats);

			if (free_arg != nullptr)
				free_arg(arg);
			std::lock_guard<std::mutex> guard(s->lock);

			s->stats = stats;
			if (s->error == SIMT_SUCCESS)
				s->error = error;
		});
	} catch (const std::bad_alloc &) {
		return SIMT_ERR_NO_MEMORY;
	}
}

int simt_stream_host_call(struct simt_stream *stream, void (*fn)(void *), void *arg)
{
	if (fn == nullptr)
		return SIMT_ERR_INVALID;
	try {
		return enqueue(stream, [fn, arg](simt_stream *) { fn(arg); });
	} catch (const std::bad_alloc &) {
		return SIMT_ERR_NO_MEMORY;
	}
}

/*
 * A kernel thread that spins on a plain variable never gives way, and nothing can stop it. Whoever
 * waits for the stream says so, once; it may also be an honest long computation.
 */
static constexpr std::chrono::seconds stuck_after{10};

static void wait_drained(simt_stream *s, std::unique_lock<std::mutex> *guard)
{
	auto idle = [s] { return s->queue.empty() && !s->busy; };
	bool told = false;

	while (true) {
		uint64_t before = s->beat.switches.load(std::memory_order_relaxed);

		if (s->drained.wait_for(*guard, stuck_after, idle))
			return;
		if (told || !s->beat.in_kernel.load(std::memory_order_relaxed) ||
		    s->beat.switches.load(std::memory_order_relaxed) != before)
			continue;
		fprintf(stderr,
			"simt: block %u thread %u (linear indices) has run for %d s without giving "
			"way. "
			"A loop that waits must use atomics, gdakit_load_acquire_sys or "
			"__nanosleep.\n",
			s->beat.block.load(std::memory_order_relaxed),
			s->beat.thread.load(std::memory_order_relaxed), (int)stuck_after.count());
		told = true;
	}
}

int simt_stream_synchronize(struct simt_stream *stream)
{
	simt_stream *s = stream != nullptr ? stream : default_stream();

	if (s == nullptr)
		return SIMT_ERR_NO_MEMORY;
	std::unique_lock<std::mutex> guard(s->lock);

	wait_drained(s, &guard);
	int error = s->error;

	s->error = SIMT_SUCCESS;
	return error;
}

int simt_stream_query(struct simt_stream *stream)
{
	simt_stream *s = stream != nullptr ? stream : default_stream();

	if (s == nullptr)
		return SIMT_ERR_NO_MEMORY;
	std::lock_guard<std::mutex> guard(s->lock);

	return s->queue.empty() && !s->busy ? SIMT_SUCCESS : SIMT_ERR_NOT_READY;
}

int simt_stream_last_stats(struct simt_stream *stream, struct simt_launch_stats *stats)
{
	simt_stream *s = stream != nullptr ? stream : default_stream();

	if (s == nullptr || stats == nullptr)
		return SIMT_ERR_INVALID;
	std::lock_guard<std::mutex> guard(s->lock);

	*stats = s->stats;
	return SIMT_SUCCESS;
}

/* --- attached worlds --- */

struct attachment {
	simt_poll_fn fn;
	void *ctx;
};

static constexpr size_t max_attachments = 16;
static std::mutex attach_lock; /* held while callbacks run: detach waits for them */
static attachment attachments[max_attachments];
static size_t attachment_count;

int simt_attach(simt_poll_fn fn, void *ctx)
{
	if (fn == nullptr)
		return SIMT_ERR_INVALID;
	std::lock_guard<std::mutex> guard(attach_lock);

	if (attachment_count == max_attachments)
		return SIMT_ERR_NO_MEMORY;
	attachments[attachment_count++] = attachment{fn, ctx};
	return SIMT_SUCCESS;
}

int simt_detach(simt_poll_fn fn, void *ctx)
{
	std::lock_guard<std::mutex> guard(attach_lock);

	for (size_t i = 0; i < attachment_count; i++) {
		if (attachments[i].fn == fn && attachments[i].ctx == ctx) {
			attachments[i] = attachments[--attachment_count];
			return SIMT_SUCCESS;
		}
	}
	return SIMT_ERR_INVALID;
}

int simt::attach_poll()
{
	/* another stream's thread is at it: that is as good as doing it ourselves */
	std::unique_lock<std::mutex> guard(attach_lock, std::try_to_lock);
	int work = 0;

	if (!guard.owns_lock())
		return 0;
	for (size_t i = 0; i < attachment_count; i++)
		work += attachments[i].fn(attachments[i].ctx);
	return work;
}
