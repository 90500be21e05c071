// SPDX-License-Identifier: BSD-3-Clause
#include "sim_tests/matrix/cell.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <endian.h>
#include <time.h>

#include "simt_attach.h"

/* --- names --- */

static const char *const scope_names[] = {"thread", "warp"};
static const char *const sharing_names[] = {"exclusive", "cta", "gpu"};
static const char *const bell_names[MX_DOORBELLS] = {"db", "bf", "proxy", "no_dbr", "emulated"};

const std::vector<mx_function> &mx_table()
{
	static const std::vector<mx_function> table = [] {
		std::vector<mx_function> t;

		mx_add_put(&t);
		mx_add_get(&t);
		mx_add_counter(&t);
		mx_add_wqe(&t);
		mx_add_queue(&t);
		return t;
	}();

	return table;
}

template <typename T, size_t N>
static constexpr uint32_t count_of(const T (&)[N])
{
	return static_cast<uint32_t>(N);
}

uint32_t mx_axis_size(uint32_t axis)
{
	const uint32_t sizes[MX_AXES] = {
		static_cast<uint32_t>(mx_table().size()),
		count_of(scope_names),
		count_of(sharing_names),
		count_of(mx_threads),
		count_of(mx_log_depths),
		MX_DOORBELLS,
		count_of(mx_wraps),
	};

	return sizes[axis];
}

static std::string value_name(uint32_t axis, uint32_t i)
{
	switch (axis) {
	case MX_FUNCTION:
		return mx_table()[i].name;
	case MX_SCOPE:
		return scope_names[i];
	case MX_SHARING:
		return sharing_names[i];
	case MX_THREADS:
		return std::to_string(mx_threads[i]);
	case MX_DEPTH:
		return std::to_string(1u << mx_log_depths[i]);
	case MX_BELL:
		return bell_names[i];
	default:
		return std::to_string(mx_wraps[i]);
	}
}

std::string mx_cell_name(const mx_cell &cell)
{
	std::string name;

	for (uint32_t axis = 0; axis < MX_AXES; axis++)
		name += value_name(axis, cell.at[axis]) + " ";
	return name + std::to_string(cell.seed);
}

bool mx_cell_parse(const char *const words[MX_AXES + 1], mx_cell *cell)
{
	for (uint32_t axis = 0; axis < MX_AXES; axis++) {
		std::string known;
		uint32_t i = 0;

		for (; i < mx_axis_size(axis) && value_name(axis, i) != words[axis]; i++)
			known += " " + value_name(axis, i);
		if (i == mx_axis_size(axis)) {
			fprintf(stderr, "'%s' is none of:%s\n", words[axis], known.c_str());
			return false;
		}
		cell->at[axis] = i;
	}
	cell->seed = static_cast<uint32_t>(strtoul(words[MX_AXES], nullptr, 0));
	if (!mx_cell_exists(*cell)) {
		fprintf(stderr, "there is no cell %s\n", mx_cell_name(*cell).c_str());
		return false;
	}
	return true;
}

bool mx_cell_exists(const mx_cell &cell)
{
	const mx_function &f = mx_table()[cell.at[MX_FUNCTION]];
	const bool is_warp = cell.at[MX_SCOPE] == 1;
	const uint32_t bell = cell.at[MX_BELL];

	if (f.kernels[cell.at[MX_SCOPE]][cell.at[MX_SHARING]] == nullptr)
		return false;
	if (is_warp && mx_threads[cell.at[MX_THREADS]] % 32 != 0)
		return false;
	if (mx_log_depths[cell.at[MX_DEPTH]] < f.log_depth_min)
		return false;
	return !f.needs_register || bell == MX_DB || bell == MX_BF;
}

/* --- a run --- */

/* What a cell is made of, from its coordinates and its seed alone. */
struct run {
	const mx_function *f;
	mx_cell cell;
	uint32_t threads, blocks, calls;
	uint64_t first, wqes; /* index of the main queue's first WQE, and how many */
	uint64_t cqes;
	struct mx_rig *rig;
	mx_args args;
	mx_image image;
	uint64_t signal_base, counter_base;
	std::vector<mx_ticket> tickets;
	std::vector<int> status;
	uint32_t turn = 0;
	std::string wrong;

	uint32_t ops() const
	{
		return threads * calls;
	}
	bool is_posted(uint32_t thread) const
	{
		return !f->lane0_only || thread % 32 == 0;
	}
	__attribute__((format(printf, 2, 3))) void complain(const char *format, ...)
	{
		char text[256];
		va_list ap;

		if (!wrong.empty())
			return;
		va_start(ap, format);
		vsnprintf(text, sizeof(text), format, ap);
		va_end(ap);
		wrong = text;
	}
};

static void choose_shape(run *r)
{
	const uint32_t seed = r->cell.seed;
	const bool is_warp = r->cell.at[MX_SCOPE] == 1;

	r->threads = mx_threads[r->cell.at[MX_THREADS]];
	r->calls = r->threads >= 256 ? 1 + seed % 3 : 96 / r->threads + 2 + seed % 3;
	/* more than a lap of the deepest ring, now and then */
	if (seed % 50 == 49 && r->threads <= 256)
		r->calls = 33000 / r->threads + 1;
	r->blocks = 1;
	if (r->cell.at[MX_SHARING] == 2) {
		uint32_t units = is_warp ? r->threads / 32 : r->threads;

		r->blocks = units % 4 == 0 ? 4 : units % 3 == 0 ? 3 : units % 2 == 0 ? 2 : 1;
	}
}

static void choose_args(run *r)
{
	static const uint32_t sizes[] = {63, 21, 300, 3000};
	const uint32_t seed = r->cell.seed;
	mx_args *a = &r->args;

	a->threads = r->threads;
	a->calls = r->calls;
	a->is_warp = r->cell.at[MX_SCOPE] == 1;
	a->seed = seed;
	a->size_max = sizes[r->ops() > 2048 ? seed % 2 : seed % 4];
	a->stride = (a->size_max + 1 + 8 + 7) / 8 * 8;
	if (a->stride < 40)
		a->stride = 40; /* 28 bytes inline */
	a->signal_val = 0x100000001ull + seed;
	a->counter_val = seed % 2 ? 1 : 0xffffffffffffffffull;
	a->wait_every = 1 + seed % 4;
	a->skip_ring = seed % 3 == 1 && !r->f->rings_itself;
	a->wait_mode = static_cast<mx_wait_mode>(seed / 4 % MX_WAIT_MODES);
	/* only wait() rings for what nobody announced */
	if (a->skip_ring && (a->wait_mode == MX_WAIT_POLL || a->wait_mode == MX_WAIT_POLL_ONE))
		a->wait_mode = MX_WAIT_TICKET;
	for (uint32_t n = 0; n < r->ops(); n++) {
		mx_op op = mx_op_of(*a, n / r->calls, n % r->calls);

		if (!r->is_posted(op.thread))
			continue;
		uint32_t w = r->f->wqes(*a, op);

		r->wqes += w;
		r->cqes += r->f->cqes(*a, op, w);
	}
	/* without a look at free slots only as many WQEs as there are */
	uint64_t most = r->f->has_companion ? std::max<uint64_t>(r->wqes, 2 * r->ops()) : r->wqes;
	a->skip_check = seed % 2 == 0 && most <= 1u << mx_log_depths[r->cell.at[MX_DEPTH]];
}

static void open_rig(run *r)
{
	const uint8_t wrap = mx_wraps[r->cell.at[MX_WRAP]];
	const uint64_t slices = static_cast<uint64_t>(r->ops()) * r->args.stride;
	const uint64_t olds = 3 * sizeof(uint64_t) * static_cast<uint64_t>(r->ops());
	struct mx_rig_config c = {};

	r->first = wrap == 0 ? 0 : (1ull << wrap) - std::min<uint64_t>(r->wqes / 2 + 1, 40000);
	c.log_depth = mx_log_depths[r->cell.at[MX_DEPTH]];
	c.doorbell = static_cast<enum mx_doorbell>(r->cell.at[MX_BELL]);
	c.has_companion = r->f->has_companion;
	c.has_second = r->f->has_second;
	c.collapsed = r->f->is_collapsed;
	c.start = r->first;
	c.rsvd = r->cell.seed % 3 == 0 ? 7 * r->cell.seed : 0;
	c.seed = r->cell.seed;
	c.bytes = slices + olds + 64;
	r->rig = mx_rig_open(&c);
	r->args.qp = &r->rig->main.dev;
	r->args.companion = &r->rig->companion.dev;
	r->args.second = &r->rig->second.dev;
	r->args.local = r->rig->local;
	r->args.remote = r->rig->remote;
	r->args.local_key = r->rig->local_key;
	r->args.remote_key = r->rig->remote_key;
	r->args.old = reinterpret_cast<uint64_t *>(r->rig->local + slices);
	r->args.counter = reinterpret_cast<uint64_t *>(r->rig->local + slices + olds);
	r->args.signal = reinterpret_cast<uint64_t *>(r->rig->remote + slices);
}

static constexpr uint64_t untouched = 0xa5a5a5a5a5a5a5a5ull;

static void fill_memory(run *r)
{
	const size_t slices = static_cast<size_t>(r->ops()) * r->args.stride;
	const uint32_t seed = r->cell.seed;

	for (size_t i = 0; i < slices; i++) {
		r->rig->local[i] = static_cast<uint8_t>(mx_hash(static_cast<uint32_t>(i), seed));
		r->rig->remote[i] = static_cast<uint8_t>(mx_hash(seed, static_cast<uint32_t>(i)));
	}
	for (uint32_t i = 0; i < 3 * r->ops(); i++)
		r->args.old[i] = untouched;
	/* their sums pass 2^32 and 2^64 */
	r->signal_base = *r->args.signal = 0ull - r->args.signal_val * (r->ops() / 2) - seed;
	r->counter_base = *r->args.counter = 0xffffffffull - seed;
	r->image.local.assign(r->rig->local, r->rig->local + slices);
	r->image.remote.assign(r->rig->remote, r->rig->remote + slices);
	for (uint32_t n = 0; n < r->ops(); n++) {
		mx_op op = mx_op_of(r->args, n / r->calls, n % r->calls);

		if (r->is_posted(op.thread))
			r->f->expect(r->image, r->args, op);
	}
	r->tickets.assign(r->ops(), 0);
	r->status.assign(r->threads, -1);
	r->args.tickets = r->tickets.data();
	r->args.status = r->status.data();
	r->args.turn = &r->turn;
}

/* --- checks --- */

static void check_bytes(run *r, const char *where, const uint8_t *got,
			const std::vector<uint8_t> &want)
{
	if (memcmp(got, want.data(), want.size()) == 0)
		return;
	size_t i = 0;

	while (got[i] == want[i])
		i++;
	r->complain("%s byte %zu of call %zu is 0x%02x, must be 0x%02x", where, i % r->args.stride,
		    i / r->args.stride, got[i], want[i]);
}

/* Additions of `val` by `n` calls: each saw another of the n values before the last. */
static void check_additions(run *r, const char *what, uint64_t word, uint64_t base, uint64_t val,
			    uint64_t n, const std::vector<uint32_t> &olds)
{
	std::vector<uint64_t> seen;

	if (word != base + val * n)
		r->complain("the %s is %#llx, must be %#llx + %#llx * %llu", what,
			    (unsigned long long)word, (unsigned long long)base,
			    (unsigned long long)val, (unsigned long long)n);
	for (uint32_t i : olds)
		seen.push_back(r->args.old[i]);
	std::vector<uint64_t> want;
	for (uint64_t i = 0; i < n; i++)
		want.push_back(base + val * i);
	std::sort(seen.begin(), seen.end());
	std::sort(want.begin(), want.end());
	if (seen != want)
		r->complain("the old values of the %s are not those of %llu additions", what,
			    (unsigned long long)n);
}

static void check_memory(run *r)
{
	const mx_args &a = r->args;
	std::vector<bool> is_old(3 * static_cast<size_t>(r->ops()));

	check_bytes(r, "remote", a.remote, r->image.remote);
	check_bytes(r, "local", a.local, r->image.local);
	check_additions(r, "signal", *a.signal, r->signal_base, a.signal_val, r->image.signals,
			r->image.signal_old);
	check_additions(r, "counter", *a.counter, r->counter_base, a.counter_val, r->image.counts,
			r->image.counter_old);
	for (uint32_t i : r->image.signal_old)
		is_old[i] = true;
	for (uint32_t i : r->image.counter_old)
		is_old[i] = true;
	for (size_t i = 0; i < is_old.size(); i++)
		if (!is_old[i] && a.old[i] != untouched)
			r->complain("word %zu of the old values was written", i);
}

/* A queue that `wqes` WQEs went through, all done. */
static void check_queue(run *r, const char *name, const struct mx_queue *q, uint64_t wqes,
			uint64_t cqes)
{
	const struct doca_gpu_dev_verbs_qp *d = &q->dev;
	const uint64_t end = r->first + wqes;
	const struct {
		const char *what;
		uint64_t got, want;
	} counts[] = {
		{"CQEs", mx_rig_cqes(r->rig, q), cqes},
		{"sq_rsvd_index", d->sq_rsvd_index, end},
		{"sq_ready_index", d->sq_ready_index, end},
		{"sq_wqe_pi", d->sq_wqe_pi, end},
		{"cqe_ci", d->cq_sq.cqe_ci, end},
		{"sq_lock", (uint64_t)d->sq_lock, 0},
		{"cqe_err_idx_inv", d->cq_sq.cqe_err_idx_inv, 0},
		{"the doorbell record", be32toh(*d->sq_dbrec),
		 static_cast<uint16_t>(r->cell.at[MX_BELL] == MX_NO_DBR ? r->first : end)},
		{"the proxy's word", r->cell.at[MX_BELL] == MX_PROXY ? q->proxy_word : end, end},
	};

	for (const auto &c : counts)
		if (c.got != c.want)
			r->complain("%s queue: %s: %#llx, must be %#llx", name, c.what,
				    (unsigned long long)c.got, (unsigned long long)c.want);
}

/* Where a queue stands whose kernel does not end. */
static void describe(run *r, int error)
{
	const struct doca_gpu_dev_verbs_qp *d = &r->rig->main.dev;

	r->complain("the kernel: %s; of %llu WQEs from %#llx: reserved %lld, ready %lld, announced "
		    "%lld, CQEs %u, known complete %lld, lock %d",
		    simt_strerror(error), (unsigned long long)r->wqes, (unsigned long long)r->first,
		    (long long)(d->sq_rsvd_index - r->first),
		    (long long)(d->sq_ready_index - r->first), (long long)(d->sq_wqe_pi - r->first),
		    mx_rig_cqes(r->rig, &r->rig->main), (long long)(d->cq_sq.cqe_ci - r->first),
		    d->sq_lock);
}

/* Each WQE is of one call, and the call's ticket is its last. */
static void check_tickets(run *r)
{
	std::vector<bool> taken(r->wqes);
	/* a ring that is too short for threads that post together is used in batches, and others
	 * come between */
	const bool in_batches = r->cell.at[MX_DEPTH] == 0;

	for (uint32_t n = 0; n < r->ops() && !r->f->loose_tickets; n++) {
		mx_op op = mx_op_of(r->args, n / r->calls, n % r->calls);
		uint64_t last = r->tickets[n] - r->first;

		if (!r->is_posted(op.thread))
			continue;
		for (uint32_t w = in_batches ? 1 : r->f->wqes(r->args, op); w-- > 0; last--) {
			if (last >= r->wqes || taken[last]) {
				r->complain("ticket %#llx of call %u is wrong or another's, too",
					    (unsigned long long)r->tickets[n], n);
				return;
			}
			taken[last] = true;
		}
	}
}

static void check(run *r)
{
	for (uint32_t t = 0; t < r->threads; t++)
		if (r->status[t] != 0)
			r->complain("thread %u got status %d", t, r->status[t]);
	if (r->rig->fault != nullptr)
		r->complain("%s", r->rig->fault);
	if (mx_rig_diagnosis(r->rig) != nullptr)
		r->complain("the NIC says: %s", mx_rig_diagnosis(r->rig));
	check_memory(r);
	check_queue(r, "main", &r->rig->main, r->wqes, r->cqes);
	if (r->f->has_companion)
		check_queue(r, "companion", &r->rig->companion, 2 * r->image.counts,
			    2 * r->image.counts);
	if (r->f->has_second)
		check_queue(r, "second", &r->rig->second, r->ops(), r->ops());
	check_tickets(r);
}

static double now_s()
{
	timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return static_cast<double>(ts.tv_sec) + static_cast<double>(ts.tv_nsec) * 1e-9;
}

mx_result mx_cell_run(const mx_cell &cell, struct simt_stream *stream)
{
	simt_launch_config cfg = {};
	simt_launch_stats stats = {};
	mx_result result;
	run r = {};

	r.f = &mx_table()[cell.at[MX_FUNCTION]];
	r.cell = cell;
	choose_shape(&r);
	choose_args(&r);
	open_rig(&r);
	fill_memory(&r);
	cfg.grid = dim3(r.blocks);
	cfg.block = dim3(r.threads / r.blocks);
	cfg.stream = stream;
	cfg.seed = cell.seed;
	cfg.watchdog_ms = 20000;
	cfg.name = r.f->name;
	simt_attach(mx_rig_poll, r.rig);
	double start = now_s();
	int error = simt_launch_kernel(cfg, r.f->kernels[cell.at[MX_SCOPE]][cell.at[MX_SHARING]],
				       r.args);

	if (error == SIMT_SUCCESS)
		error = simt_stream_synchronize(stream);
	result.seconds = now_s() - start;
	simt_detach(mx_rig_poll, r.rig);
	if (error != SIMT_SUCCESS)
		describe(&r, error);
	mx_rig_poll(r.rig);
	if (!mx_rig_quiet(r.rig))
		r.complain("the NIC does not come to rest");
	check(&r);
	mx_rig_close(r.rig);
	simt_stream_last_stats(stream, &stats);
	result.wrong = r.wrong;
	result.calls = r.f->lane0_only ? r.ops() / 32 : r.ops();
	result.switches = stats.switches;
	return result;
}
