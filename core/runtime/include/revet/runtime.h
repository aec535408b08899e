/* The runtime of programs that Revet emits: contexts and buffers that synchronise lazily. C11 and
 * C++20; everything is here, there is no library to link.
 *
 * A buffer has a host and a device view. Each view is valid or not; a sync makes a view current by
 * copying from the other one only if it must, and gives a pointer to it:
 *   READ           a view that is not valid is copied from the other one and becomes valid
 *   WRITE          the view will be overwritten as a whole: it becomes valid, the other one invalid
 *   READ | WRITE   the view will be updated in part: the rule of READ, then the other one is
 * invalid Reading where neither view is valid is an error, and so is an access that the buffer was
 * not created for. A pointer from a host sync stays good until the next device sync with WRITE.
 *
 * On the OpenMP platform both views are one allocation and nothing is ever copied; the rules are
 * checked all the same. Another platform supplies a revet_device.
 *
 * Errors do not end the process: functions give NULL or a code, and the context keeps the message.
 * A context and its buffers are used by one thread at a time. Sizes are in bytes. */
#ifndef REVET_RUNTIME_H
#define REVET_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { REVET_HOST_READ = 1, REVET_HOST_WRITE = 2, REVET_DEVICE_READ = 4, REVET_DEVICE_WRITE = 8 };

enum {
  REVET_OK = 0,
  REVET_ERROR_PROGRAM = 1,   /* a run-time error of the program: out of bounds, step 0, .. */
  REVET_ERROR_ARGUMENT = 2,  /* a wrong call: no buffer, access outside the creation flags, size */
  REVET_ERROR_UNWRITTEN = 3, /* a buffer is read that nothing was written to */
  REVET_ERROR_MEMORY = 4,    /* an allocation failed */
  REVET_ERROR_DEVICE = 5     /* the device reports a failure */
};

/* What a platform with memory of its own does. Copies are in order with launches; they and `wait`
 * give 0 or the device's error code. */
typedef struct revet_device {
  const char* platform;
  const char* kind;
  void* (*allocate)(void* state, uint64_t bytes);
  void (*release)(void* state, void* memory);
  int (*to_device)(void* state, void* device, const void* host, uint64_t bytes);
  int (*to_host)(void* state, void* host, const void* device, uint64_t bytes);
  int (*wait)(void* state);
} revet_device;

typedef struct revet_context {
  const revet_device* device; /* NULL: the host's memory is the device's */
  void* device_state;
  int error; /* of the last failure, REVET_OK when there was none */
  char message[1024];
  char file[256]; /* source of the program where it failed; "" when that is not known */
  int line;
  int column;
  unsigned host_threads; /* to use; 0: as many as the platform takes by itself */
  /* of the last run */
  unsigned used_host_threads;
  uint64_t threads; /* dataflow threads */
  double seconds;   /* of the program alone */
} revet_context;

typedef struct revet_buffer {
  void* host;
  void* device;
  uint64_t bytes;
  unsigned access;
  bool host_valid;
  bool device_valid;
  bool owned; /* the host's memory is the buffer's */
} revet_buffer;

/* Sets the context's error, unless the context is NULL, and gives the code. */
static inline int revet_set_error(revet_context* context, int code, const char* message) {
  if (context != NULL) {
    context->error = code;
    snprintf(context->message, sizeof context->message, "%s", message);
    context->file[0] = '\0';
    context->line = 0;
    context->column = 0;
  }
  return code;
}

/* The message of the last failure; "" when there was none. */
static inline const char* revet_error_message(const revet_context* context) {
  return context != NULL ? context->message : "no context";
}

static inline void revet_clear_error(revet_context* context) {
  revet_set_error(context, REVET_OK, "");
}

/* `platform` is part of a platform's name, `kind` is "cpu", "gpu" or "any"; NULL and "" mean any.
 * NULL where there is no such platform or no memory. */
static inline revet_context* revet_create_context(const char* platform, const char* kind) {
  revet_context* context;
  if (platform != NULL && strstr("openmp", platform) == NULL) return NULL;
  if (kind != NULL && kind[0] != '\0' && strcmp(kind, "cpu") != 0 && strcmp(kind, "any") != 0)
    return NULL;
  context = (revet_context*)calloc(1, sizeof(revet_context));
  return context;
}

static inline void revet_destroy_context(revet_context* context) { free(context); }

static inline int revet_wait_finished(revet_context* context) {
  if (context == NULL) return REVET_ERROR_ARGUMENT;
  if (context->device != NULL && context->device->wait(context->device_state) != 0)
    return revet_set_error(context, REVET_ERROR_DEVICE, "waiting for the device failed");
  return REVET_OK;
}

static inline void revet_destroy_buffer(revet_context* context, revet_buffer* buffer) {
  if (buffer == NULL) return;
  if (context != NULL && context->device != NULL && buffer->device != NULL)
    context->device->release(context->device_state, buffer->device);
  if (buffer->owned) free(buffer->host);
  free(buffer);
}

/* A buffer with memory for the device, if it is to have its own; the host's is not there yet. */
static inline revet_buffer* revet_new_buffer_(revet_context* context, uint64_t bytes,
                                              unsigned access) {
  revet_buffer* buffer;
  if (context == NULL) return NULL;
  if (access == 0 || access > 15) {
    revet_set_error(context, REVET_ERROR_ARGUMENT, "a buffer is created with wrong access flags");
    return NULL;
  }
  buffer = (revet_buffer*)calloc(1, sizeof(revet_buffer));
  if (buffer != NULL) {
    buffer->bytes = bytes;
    buffer->access = access;
    if (context->device == NULL || (access & (REVET_DEVICE_READ | REVET_DEVICE_WRITE)) == 0)
      return buffer;
    buffer->device = context->device->allocate(context->device_state, bytes != 0 ? bytes : 1);
    if (buffer->device != NULL) return buffer;
    free(buffer);
  }
  revet_set_error(context, REVET_ERROR_MEMORY, "no memory for a buffer");
  return NULL;
}

/* A buffer of that many bytes, of undefined contents. NULL on failure. */
static inline revet_buffer* revet_create_buffer(revet_context* context, uint64_t bytes,
                                                unsigned access) {
  const uint64_t rounded = (bytes + 64) / 64 * 64;
  revet_buffer* buffer = revet_new_buffer_(context, bytes, access);
  if (buffer == NULL) return NULL;
  if (context->device != NULL && (access & (REVET_HOST_READ | REVET_HOST_WRITE)) == 0)
    return buffer;
  buffer->owned = true;
  if (rounded > bytes && rounded <= SIZE_MAX) buffer->host = aligned_alloc(64, (size_t)rounded);
  if (buffer->host != NULL) return buffer;
  revet_destroy_buffer(context, buffer);
  revet_set_error(context, REVET_ERROR_MEMORY, "no memory for a buffer");
  return NULL;
}

/* A buffer whose host view is the caller's memory, which holds valid data and outlives it. NULL on
 * failure. */
static inline revet_buffer* revet_wrap_buffer(revet_context* context, void* memory, uint64_t bytes,
                                              unsigned access) {
  revet_buffer* buffer;
  if (memory == NULL && bytes != 0) {
    revet_set_error(context, REVET_ERROR_ARGUMENT, "there is no memory to make a buffer of");
    return NULL;
  }
  buffer = revet_new_buffer_(context, bytes, access);
  if (buffer == NULL) return NULL;
  buffer->host = memory != NULL ? memory : (void*)buffer; /* never NULL, and never accessed */
  buffer->host_valid = true;
  return buffer;
}

static inline uint64_t revet_buffer_bytes(const revet_buffer* buffer) {
  return buffer != NULL ? buffer->bytes : 0;
}

static inline int revet_copy_(revet_context* context, revet_buffer* buffer, bool to_device,
                              uint64_t bytes) {
  int status;
  if (context->device == NULL || bytes == 0) return REVET_OK;
  status =
      to_device
          ? context->device->to_device(context->device_state, buffer->device, buffer->host, bytes)
          : context->device->to_host(context->device_state, buffer->host, buffer->device, bytes);
  return status == 0 ? REVET_OK
                     : revet_set_error(context, REVET_ERROR_DEVICE, "copying a buffer failed");
}

/* The rules of the page's head for one side; gives that side's pointer or NULL. */
static inline void* revet_sync_(revet_context* context, revet_buffer* buffer, uint64_t bytes,
                                unsigned access, bool device) {
  const unsigned read = device ? REVET_DEVICE_READ : REVET_HOST_READ;
  const unsigned write = device ? REVET_DEVICE_WRITE : REVET_HOST_WRITE;
  bool* own;
  bool* other;
  if (context == NULL) return NULL;
  if (buffer == NULL) {
    revet_set_error(context, REVET_ERROR_ARGUMENT, "a buffer is missing");
    return NULL;
  }
  if (access == 0 || (access & ~(read | write)) != 0 || (access & ~buffer->access) != 0) {
    revet_set_error(context, REVET_ERROR_ARGUMENT,
                    "a buffer is accessed in a way that it was not created for");
    return NULL;
  }
  if (bytes > buffer->bytes) {
    revet_set_error(context, REVET_ERROR_ARGUMENT, "a buffer is smaller than the access to it");
    return NULL;
  }
  own = device ? &buffer->device_valid : &buffer->host_valid;
  other = device ? &buffer->host_valid : &buffer->device_valid;
  if ((access & read) != 0 && !*own) {
    if (!*other) {
      revet_set_error(context, REVET_ERROR_UNWRITTEN,
                      "a buffer is read that nothing was written to");
      return NULL;
    }
    /* The whole of it, for `valid` is said of the whole. */
    if (revet_copy_(context, buffer, device, buffer->bytes) != REVET_OK) return NULL;
    *own = true;
  }
  if ((access & write) != 0) {
    *own = true;
    *other = false;
  }
  return device && context->device != NULL ? buffer->device : buffer->host;
}

/* The host's view, for an access to its first `bytes` bytes. NULL on failure. */
static inline void* revet_host_sync(revet_context* context, revet_buffer* buffer, uint64_t bytes,
                                    unsigned access) {
  return revet_sync_(context, buffer, bytes, access, false);
}

/* The device's view; on a GPU this is an address of the GPU. NULL on failure. */
static inline void* revet_device_sync(revet_context* context, revet_buffer* buffer, uint64_t bytes,
                                      unsigned access) {
  return revet_sync_(context, buffer, bytes, access, true);
}

/* The device's view of a buffer of which a program writes some elements and reads none: the others
 * keep what the buffer holds, which is zeros where nothing was ever written. NULL on failure. */
static inline void* revet_device_sync_output(revet_context* context, revet_buffer* buffer,
                                             uint64_t bytes) {
  if (context != NULL && buffer != NULL && (buffer->access & REVET_DEVICE_WRITE) != 0) {
    if (!buffer->host_valid && !buffer->device_valid && buffer->host != NULL) {
      memset(buffer->host, 0, (size_t)buffer->bytes);
      buffer->host_valid = true;
    }
    if (!buffer->device_valid && buffer->host_valid) {
      if (revet_copy_(context, buffer, true, buffer->bytes) != REVET_OK) return NULL;
      buffer->device_valid = true;
    }
  }
  return revet_sync_(context, buffer, bytes, REVET_DEVICE_WRITE, true);
}

#ifdef __cplusplus
}
#endif

#endif
