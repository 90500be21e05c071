// SPDX-License-Identifier: BSD-3-Clause
/* The ioctl codec: headers and attributes, right and wrong. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sim_tests/uverbs_rig.h"

static void query_port(struct ur_call *c, uint8_t *port, struct ib_uverbs_query_port_resp_ex *resp)
{
	*port = 1;
	ur_begin(c, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
	ur_in(c, UVERBS_ATTR_QUERY_PORT_PORT_NUM, port, 1);
	ur_out(c, UVERBS_ATTR_QUERY_PORT_RESP, resp, sizeof(*resp));
}

#define PORT_TEST(name)                                                                            \
	static void name##_body(struct ur_dev *dev, struct ur_call *c,                             \
				struct ib_uverbs_query_port_resp_ex *resp);                        \
	Test(uverbs_codec, name)                                                                   \
	{                                                                                          \
		struct ib_uverbs_query_port_resp_ex resp;                                          \
		struct ur_dev dev;                                                                 \
		struct ur_call c;                                                                  \
		uint8_t port;                                                                      \
                                                                                                   \
		memset(&resp, 0xee, sizeof(resp));                                                 \
		ur_open(&dev);                                                                     \
		query_port(&c, &port, &resp);                                                      \
		name##_body(&dev, &c, &resp);                                                      \
	}                                                                                          \
	static void name##_body(__attribute__((unused)) struct ur_dev *dev, struct ur_call *c,     \
				__attribute__((unused)) struct ib_uverbs_query_port_resp_ex *resp)

PORT_TEST(a_right_call_answers_and_marks_its_output)
{
	cr_assert_eq(ur_run(dev->fd, c), 0);
	cr_expect_eq(resp->legacy_resp.state, 4);
	cr_expect(c->hdr.attrs[1].flags & UVERBS_ATTR_F_VALID_OUTPUT);
	cr_expect(!(c->hdr.attrs[0].flags & UVERBS_ATTR_F_VALID_OUTPUT));
}

PORT_TEST(attributes_come_in_any_order)
{
	struct ib_uverbs_attr first = c->hdr.attrs[0];

	c->hdr.attrs[0] = c->hdr.attrs[1];
	c->hdr.attrs[1] = first;
	cr_assert_eq(ur_run(dev->fd, c), 0);
	cr_expect_eq(resp->legacy_resp.state, 4);
}

PORT_TEST(a_length_that_disagrees_with_the_count_is_EINVAL)
{
	c->hdr.length = (uint16_t)(c->hdr.length - 1);
	cr_expect_eq(uv_ioctl(dev->fd, c), -EINVAL);
	c->hdr.length = 0;
	cr_expect_eq(uv_ioctl(dev->fd, c), -EINVAL);
	c->hdr.num_attrs = UINT16_MAX;
	cr_expect_eq(uv_ioctl(dev->fd, c), -EINVAL);
}

PORT_TEST(a_method_that_is_not_known_is_EPROTONOSUPPORT)
{
	c->hdr.method_id = 0x3f;
	cr_expect_eq(ur_run(dev->fd, c), -EPROTONOSUPPORT);
}

PORT_TEST(an_unknown_attribute_counts_only_if_it_is_mandatory)
{
	ur_in(c, 0x77, resp, 4);
	cr_expect_eq(ur_run(dev->fd, c), -EPROTONOSUPPORT);
	ur_attr(c, 0x77)->flags = 0;
	cr_expect_eq(ur_run(dev->fd, c), 0);
}

/* A later library asks for more than this kernel knows, and lives without it. */
Test(uverbs_codec, more_attributes_than_any_method_has_are_passed_over)
{
	enum {
		MOST = (UV_IOCTL_MAX - sizeof(struct ib_uverbs_ioctl_hdr)) /
		       sizeof(struct ib_uverbs_attr)
	};
	static struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attrs[MOST + 1];
	} c;
	struct ib_uverbs_query_port_resp_ex resp;
	struct ur_dev dev;

	ur_open(&dev);
	c.hdr.object_id = UVERBS_OBJECT_DEVICE;
	c.hdr.method_id = UVERBS_METHOD_QUERY_PORT;
	c.hdr.driver_id = RDMA_DRIVER_MLX5;
	for (uint16_t i = 0; i <= MOST; i++)
		c.attrs[i] = (struct ib_uverbs_attr){.attr_id = (uint16_t)(0x70 + i)};
	c.attrs[MOST - 2] = (struct ib_uverbs_attr){.attr_id = UVERBS_ATTR_QUERY_PORT_PORT_NUM,
						    .len = 1,
						    .flags = UVERBS_ATTR_F_MANDATORY,
						    .data = 1};
	c.attrs[MOST - 1] = (struct ib_uverbs_attr){.attr_id = UVERBS_ATTR_QUERY_PORT_RESP,
						    .len = sizeof(resp),
						    .flags = UVERBS_ATTR_F_MANDATORY,
						    .data = (uintptr_t)&resp};
	c.hdr.num_attrs = MOST;
	c.hdr.length = (uint16_t)(sizeof(c.hdr) + MOST * sizeof(c.attrs[0]));
	cr_expect_eq(uv_ioctl(dev.fd, &c), 0);
	c.hdr.num_attrs = MOST + 1;
	c.hdr.length = (uint16_t)(sizeof(c.hdr) + (MOST + 1) * sizeof(c.attrs[0]));
	cr_expect_eq(uv_ioctl(dev.fd, &c), -EINVAL, "more than a page");
}

PORT_TEST(a_call_for_another_driver_is_EINVAL_whatever_it_asks)
{
	c->hdr.driver_id = RDMA_DRIVER_RXE;
	cr_expect_eq(ur_run(dev->fd, c), -EINVAL);
	c->hdr.method_id = 0x3f;
	cr_expect_eq(ur_run(dev->fd, c), -EINVAL, "before the method is looked for");
}

PORT_TEST(a_missing_attribute_is_EINVAL)
{
	c->hdr.num_attrs = 1;
	cr_expect_eq(ur_run(dev->fd, c), -EINVAL);
}

PORT_TEST(an_attribute_given_twice_is_EINVAL)
{
	ur_in(c, UVERBS_ATTR_QUERY_PORT_PORT_NUM, "\1", 1);
	cr_expect_eq(ur_run(dev->fd, c), -EINVAL);
}

PORT_TEST(sizes_are_bounded_on_both_sides)
{
	c->hdr.attrs[1].len = sizeof(struct ib_uverbs_query_port_resp) - 1;
	cr_expect_eq(ur_run(dev->fd, c), -EINVAL, "too short for the answer");
	c->hdr.attrs[1].len = sizeof(*resp);
	c->hdr.attrs[0].len = 0;
	cr_expect_eq(ur_run(dev->fd, c), -EINVAL, "too short for the port");
	c->hdr.attrs[0].len = 9;
	c->hdr.attrs[0].data = (uintptr_t)resp;
	cr_expect_eq(ur_run(dev->fd, c), -EINVAL, "too long for the port");
}

PORT_TEST(a_constant_may_be_widened_with_zeroes_only)
{
	c->hdr.attrs[0].len = 8;
	cr_expect_eq(ur_run(dev->fd, c), 0);
	c->hdr.attrs[0].data |= 1u << 8;
	cr_expect_eq(ur_run(dev->fd, c), -EINVAL);
}

PORT_TEST(reserved_bits_are_refused)
{
	c->hdr.attrs[0].attr_data.reserved = 1;
	cr_expect_eq(ur_run(dev->fd, c), -EINVAL);
	c->hdr.attrs[0].attr_data.reserved = 0;
	c->hdr.reserved2 = 1;
	cr_expect_eq(ur_run(dev->fd, c), -EPROTONOSUPPORT);
}

PORT_TEST(an_address_that_is_not_mapped_is_EFAULT)
{
	c->hdr.attrs[1].data = 4096;
	cr_expect_eq(ur_run(dev->fd, c), -EFAULT);
	cr_expect_eq(uv_ioctl(dev->fd, (void *)4096), -EFAULT);
}

PORT_TEST(a_longer_answer_is_filled_with_zeroes)
{
	uint8_t big[512];

	memset(big, 0xee, sizeof(big));
	c->hdr.attrs[1].data = (uintptr_t)big;
	c->hdr.attrs[1].len = sizeof(big);
	cr_assert_eq(ur_run(dev->fd, c), 0);
	for (size_t i = sizeof(*resp); i < sizeof(big); i++)
		cr_expect_eq(big[i], 0, "byte %zu", i);
}

Test(uverbs_codec, other_files_are_not_ours)
{
	struct ur_call c;
	int fd = open("/dev/zero", O_RDONLY);

	ur_begin(&c, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
	cr_expect_eq(ur_run(fd, &c), -ENOTTY);
	cr_expect_eq(ur_run(-1, &c), -ENOTTY);
	close(fd);
}

Test(uverbs_codec, before_get_context_only_the_probe_is_answered)
{
	struct ib_uverbs_query_device in = {0};
	struct ib_uverbs_query_device_resp out;
	int fd = open(UV_NODE_PATH, O_RDWR);
	struct ur_call c;

	cr_expect_eq(
		ur_write(fd, IB_USER_VERBS_CMD_QUERY_DEVICE, &in, sizeof(in), &out, 4, NULL, 0),
		-ENOSPC, "libibverbs asks so whether INVOKE_WRITE is known");
	cr_expect_eq(ur_write(fd, IB_USER_VERBS_CMD_QUERY_DEVICE, &in, sizeof(in), &out,
			      sizeof(out), NULL, 0),
		     -EINVAL);
	ur_begin(&c, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY);
	ur_handle(&c, UVERBS_ATTR_DESTROY_PD_HANDLE, 0);
	cr_expect_eq(ur_run(fd, &c), -EINVAL);
}

Test(uverbs_codec, write_commands_are_bounded_and_known)
{
	struct ib_uverbs_query_device in = {0};
	struct ib_uverbs_query_device_resp out;
	struct ur_dev dev;

	ur_open(&dev);
	cr_expect_eq(ur_write(dev.fd, IB_USER_VERBS_CMD_QUERY_DEVICE, &in, sizeof(in), &out,
			      sizeof(out), NULL, 0),
		     0);
	cr_expect_eq(out.vendor_part_id, PRM_DEVICE_CONNECTX7);
	cr_expect_eq(ur_write(dev.fd, IB_USER_VERBS_CMD_QUERY_DEVICE, &in, 4, &out, sizeof(out),
			      NULL, 0),
		     -ENOSPC);
	cr_expect_eq(ur_write(dev.fd, IB_USER_VERBS_CMD_POST_SEND, &in, sizeof(in), &out,
			      sizeof(out), NULL, 0),
		     -EOPNOTSUPP);
}

Test(uverbs_codec, a_write_command_of_a_later_library_must_not_mean_more_than_is_known)
{
	static const struct {
		uint32_t cmd;
		uint16_t in_len, out_len;
	} cases[] = {
		{IB_USER_VERBS_CMD_QUERY_DEVICE, sizeof(struct ib_uverbs_query_device),
		 sizeof(struct ib_uverbs_query_device_resp)},
		{IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_QUERY_DEVICE,
		 sizeof(struct ib_uverbs_ex_query_device),
		 sizeof(struct ib_uverbs_ex_query_device_resp)},
	};
	uint8_t in[600] = {0}, out[600];
	struct ur_dev dev;

	ur_open(&dev);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint16_t longer[] = {(uint16_t)(cases[i].in_len + 4), sizeof(in)};

		for (size_t n = 0; n < 2; n++) {
			cr_expect_eq(ur_write(dev.fd, cases[i].cmd, in, longer[n], out,
					      cases[i].out_len, NULL, 0),
				     0, "%zu: zeroes mean nothing", i);
			in[longer[n] - 1] = 1;
			cr_expect_eq(ur_write(dev.fd, cases[i].cmd, in, longer[n], out,
					      cases[i].out_len, NULL, 0),
				     -EOPNOTSUPP, "%zu: the last of %u bytes", i, longer[n]);
			in[longer[n] - 1] = 0;
		}
	}
}

Test(uverbs_codec, what_is_not_emulated_is_named)
{
	struct ib_uverbs_post_send in = {0};
	struct ib_uverbs_post_send_resp out;
	struct ur_dev dev;
	struct ur_call c;
	const char *said;
	int before;

	ur_open(&dev);
	before = ur_hear();
	ur_write(dev.fd, IB_USER_VERBS_CMD_POST_SEND, &in, sizeof(in), &out, sizeof(out), NULL, 0);
	ur_write(dev.fd, IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_CREATE_FLOW, &in,
		 sizeof(in), &out, sizeof(out), NULL, 0);
	ur_begin(&c, UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_CREATE);
	ur_run(dev.fd, &c);
	ur_begin(&c, MLX5_IB_OBJECT_PP, MLX5_IB_METHOD_PP_OBJ_ALLOC);
	ur_run(dev.fd, &c);
	ur_begin(&c, UVERBS_OBJECT_DEVICE, 0x3f);
	ur_run(dev.fd, &c);
	said = ur_heard(before);
	cr_assert_not_null(strstr(said, "write command POST_SEND (0x1c) is"), "said: %s", said);
	cr_assert_not_null(strstr(said, "EX_CREATE_FLOW (0x80000032) is"), "said: %s", said);
	cr_assert_not_null(
		strstr(said, "UVERBS_METHOD_COUNTERS_CREATE (0x0) of UVERBS_OBJECT_COUNTERS (0xf)"),
		"said: %s", said);
	cr_assert_not_null(
		strstr(said, "MLX5_IB_METHOD_PP_OBJ_ALLOC (0x1000) of MLX5_IB_OBJECT_PP"),
		"said: %s", said);
	cr_assert_not_null(strstr(said, "unknown (0x3f) of UVERBS_OBJECT_DEVICE (0x0)"), "said: %s",
			   said);
}

Test(uverbs_codec, a_handle_of_another_kind_is_refused)
{
	struct ur_dev dev;
	struct ur_call c;
	uint32_t pd;

	ur_open(&dev);
	pd = ur_pd(&dev);
	ur_begin(&c, UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY);
	ur_handle(&c, UVERBS_ATTR_DESTROY_MR_HANDLE, pd);
	cr_expect_eq(ur_run(dev.fd, &c), -EINVAL);
	cr_expect_eq(ur_pd_destroy(&dev, pd + 1000), -ENOENT);
	cr_expect_eq(ur_pd_destroy(&dev, UINT32_MAX), -ENOENT);
	cr_expect_eq(ur_pd_destroy(&dev, pd), 0);
	cr_expect_eq(ur_pd_destroy(&dev, pd), -ENOENT, "it is gone");
}

static int get_context(int fd, const void *req, size_t len)
{
	struct mlx5_ib_alloc_ucontext_resp resp;
	struct ur_call c;

	ur_begin(&c, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	ur_in(&c, UVERBS_ATTR_UHW_IN, req, (uint16_t)len);
	ur_out(&c, UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp));
	return ur_run(fd, &c);
}

Test(uverbs_codec, without_a_descriptor_left_GET_CONTEXT_is_EMFILE_also_in_older_words)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req = {.max_cqe_version = 1,
						    .lib_caps = MLX5_LIB_CAP_DYN_UAR};
	const size_t older = offsetof(struct mlx5_ib_alloc_ucontext_req_v2, lib_caps);
	int fd = open(UV_NODE_PATH, O_RDWR), stderr_before = ur_hear();
	struct rlimit all, none;
	const char *said;

	setenv(UV_ENV_WIRE, "local", 1);
	cr_expect_eq(get_context(fd, &req, older), -EOPNOTSUPP, "the words of a library too old");
	getrlimit(RLIMIT_NOFILE, &all);
	none = all;
	none.rlim_cur = (rlim_t)dup(0); /* the lowest number that is free */
	close((int)none.rlim_cur);
	setrlimit(RLIMIT_NOFILE, &none);
	cr_expect_eq(get_context(fd, &req, sizeof(req)), -EMFILE);
	cr_expect_eq(get_context(fd, &req, older), -EMFILE, "libmlx5 tries again so");
	setrlimit(RLIMIT_NOFILE, &all);
	said = ur_heard(stderr_before);
	cr_assert_not_null(strstr(said, "GET_CONTEXT: too many open files"), "said: %s", said);
	cr_expect_eq(get_context(fd, &req, sizeof(req)), 0, "and it is no lasting harm");
}
