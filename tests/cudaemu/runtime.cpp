// Runs a CUDA kernel on the CPU and checks every memory access.
//
// A CUDA thread is a fiber; all of them run in one thread of the machine. A seeded scheduler picks
// the order of blocks and threads and breaks in between accesses, with several blocks in flight.
// Two accesses to a word are ordered if one thread made both, or a __syncthreads of their block or
// a __syncwarp of both lanes lies between; nothing orders blocks. Shuffles order no memory.
#include <dlfcn.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

namespace {
struct Index { unsigned x; };
enum State { RUNNABLE, AT_BARRIER, AT_WARP, DONE };
enum WarpKind { WARP_SYNC, WARP_SHUFFLE, WARP_XOR, WARP_BALLOT, WARP_MATCH };
constexpr size_t STACK = 64 << 10, PAGE = 4096, SECTOR = 32;

struct Access { unsigned block, epoch, clock; int thread; bool atomic; const void* site; };
struct Word { Access writer; bool written = false; std::vector<Access> readers; };
struct Space {  // an argument of the kernel, or the shared memory of a block
  uintptr_t low; size_t bytes; bool writable, shared; std::vector<Word> words;
  bool holds(uintptr_t a, size_t n) const { return a >= low && a + n <= low + bytes; }
};

struct Block;
struct Fiber {
  Block* block; int thread, lane, warp; State state = RUNNABLE; bool started = false;
  char* stack; ucontext_t start; jmp_buf context;
  unsigned mask = 0; uint64_t value = 0; int kind = 0, argument = 0; const void* site = nullptr;
  unsigned seen[32] = {0};  // how far this lane knows the others of its warp
};
struct Block {
  unsigned number, epoch = 0; int alive; std::vector<Fiber*> fibers; Space memory; char* shared;
};

struct Launch { void (*kernel)(void**); void** arguments; unsigned grid, size; size_t shared;
                int break_one_in; bool checked; } launch;
std::vector<Space> spaces; std::vector<Fiber*> pool; std::vector<char*> stacks;
Fiber* current; jmp_buf scheduler; uint64_t state; size_t last_hit;
std::map<std::string, long> findings;
std::unordered_set<uintptr_t> sectors_read, sectors_written;
long accesses, wide, switches;

uint64_t draw() { state ^= state << 13; state ^= state >> 7; state ^= state << 17; return state; }
template <class T> void shuffle(std::vector<T>& items) {
  for (size_t i = items.size(); i-- > 1;) std::swap(items[i], items[draw() % (i + 1)]);
}

std::string place(const void* site) {  // offset in the library, for addr2line
  Dl_info info; char text[40];
  if (!site || !dladdr(site, &info)) return "?";
  snprintf(text, sizeof text, "<%zx>", (size_t)((char*)site - (char*)info.dli_fbase - 1));
  return text;
}
void find(const std::string& what, const void* site, const void* other = nullptr) {
  findings[what + " at " + place(site) + (other ? " and " + place(other) : "")]++;
}

void give_way() { ++switches; if (!_setjmp(current->context)) _longjmp(scheduler, 1); }
[[noreturn]] void leave() {
  current->state = DONE; --current->block->alive; _longjmp(scheduler, 1);
}
void enter() { launch.kernel(launch.arguments); leave(); }
void resume(Fiber* f) {
  current = f;
  if (!_setjmp(scheduler)) {
    if (f->started) _longjmp(f->context, 1);
    f->started = true;
    setcontext(&f->start);
  }
  current = nullptr;
}

bool ordered(const Access& a) {  // a came before what the current fiber does now, for sure
  const Fiber* f = current;
  if (a.block != f->block->number) return false;
  if (a.thread == f->thread || a.epoch != f->block->epoch) return true;
  return a.thread / 32 == f->warp && f->seen[a.thread % 32] >= a.clock;
}

void check_word(Word& word, bool shared, bool writes, const Access& me) {
  const char* where = shared ? " in shared memory" : "";
  if (shared && !writes && !word.written) find("uninitialised shared memory", me.site);
  if (word.written && !ordered(word.writer) && !(word.writer.atomic && me.atomic))
    find(std::string(writes ? "race of two writes" : "race of a read with a write") + where,
         me.site, word.writer.site);
  if (writes) {
    for (auto& r : word.readers)
      if (!ordered(r)) {
        find(std::string("race of a write with a read") + where, me.site, r.site);
        break;
      }
    word.written = true; word.writer = me; word.readers.clear();
    return;
  }
  for (auto& r : word.readers)
    if (r.block == me.block && r.thread == me.thread) { r = me; return; }
  word.readers.push_back(me);
}

Space* space_of(uintptr_t a, size_t n) {
  if (current->block->memory.holds(a, n)) return &current->block->memory;
  if (last_hit < spaces.size() && spaces[last_hit].holds(a, n)) return &spaces[last_hit];
  for (size_t i = 0; i < spaces.size(); ++i)
    if (spaces[i].holds(a, n)) { last_hit = i; return &spaces[i]; }
  return nullptr;
}

void access(const void* address, int n, bool writes, bool atomic, const void* site) {
  if (!launch.checked || !current) return;
  uintptr_t a = (uintptr_t)address, stack = (uintptr_t)current->stack;
  if (a >= stack && a < stack + STACK) return;
  uintptr_t arguments = (uintptr_t)launch.arguments;
  for (int i = 0; launch.arguments[i]; ++i) {
    uintptr_t held = (uintptr_t)launch.arguments[i];
    if (a >= held && a < held + 8) return;
  }
  if (a >= arguments && a < arguments + 64 * sizeof(void*)) return;
  ++accesses;
  Space* space = space_of(a, n);
  if (!space) { find(writes ? "write out of bounds" : "read out of bounds", site); leave(); }
  if (writes && !space->writable) find("write to a const argument", site);
  if (a % n) find("misaligned access", site);
  if (!space->shared) {
    auto& sectors = writes ? sectors_written : sectors_read;
    for (uintptr_t s = a / SECTOR; s <= (a + n - 1) / SECTOR; ++s) sectors.insert(s);
    wide += n == 16;
  }
  if (space->words.empty()) space->words.resize((space->bytes + 3) / 4);
  const Fiber* f = current;
  Access me{f->block->number, f->block->epoch, f->seen[f->lane], f->thread, atomic, site};
  for (size_t w = (a - space->low) / 4; w <= (a - space->low + n - 1) / 4; ++w)
    check_word(space->words[w], space->shared, writes, me);
  if (launch.break_one_in && draw() % launch.break_one_in == 0) give_way();
}

void pass_barrier(Block* b) {
  int waiting = 0; const void* site = nullptr; bool several = false;
  for (auto* f : b->fibers)
    if (f->state == AT_BARRIER) { ++waiting; several |= site && site != f->site; site = f->site; }
  if (!waiting || waiting != b->alive) return;
  if (several) find("barrier divergence: threads wait at different __syncthreads", site);
  if (b->alive != (int)b->fibers.size()) find("__syncthreads after some threads have left", site);
  ++b->epoch;
  for (auto* f : b->fibers) if (f->state == AT_BARRIER) f->state = RUNNABLE;
}

uint64_t exchanged(Fiber** lanes, unsigned mask, int lane, const void* site) {
  const Fiber* f = lanes[lane]; int from = lane; uint64_t out = 0;
  if (f->kind == WARP_BALLOT || f->kind == WARP_MATCH) {
    for (int j = 0; j < 32; ++j)
      if (mask >> j & 1 && lanes[j] && (f->kind == WARP_BALLOT ? lanes[j]->value != 0
                                                               : lanes[j]->value == f->value))
        out |= 1ull << j;
    return out;
  }
  if (f->kind == WARP_SHUFFLE) from = f->argument & 31;
  if (f->kind == WARP_XOR) from = (lane ^ f->argument) & 31;
  if (!(mask >> from & 1) || !lanes[from]) { find("shuffle from outside its mask", site); return 0; }
  return lanes[from]->value;
}

void pass_warp(Fiber* f) {
  Fiber* lanes[32] = {nullptr}; unsigned present = 0, waiting = 0, mask = f->mask;
  for (auto* g : f->block->fibers) {
    if (g->warp != f->warp) continue;
    lanes[g->lane] = g;
    if (g->state != DONE) present |= 1u << g->lane;
    if (g->state == AT_WARP && g->mask == mask) waiting |= 1u << g->lane;
  }
  if (mask & ~present) find("warp mask with lanes that have left or never were", f->site);
  if ((waiting & mask) != (mask & present)) return;
  uint64_t out[32] = {0}; unsigned seen[32] = {0}; bool sync = f->kind == WARP_SYNC;
  for (int i = 0; i < 32; ++i) {
    if (!(waiting >> i & 1)) continue;
    if (lanes[i]->site != f->site) find("lanes of a mask at different places", f->site, lanes[i]->site);
    out[i] = exchanged(lanes, mask & present, i, f->site);
    for (int j = 0; j < 32; ++j) seen[j] = std::max(seen[j], lanes[i]->seen[j]);
  }
  for (int i = 0; i < 32; ++i) {
    if (!(waiting >> i & 1)) continue;
    lanes[i]->value = out[i]; lanes[i]->state = RUNNABLE;
    if (sync) { memcpy(lanes[i]->seen, seen, sizeof seen); ++lanes[i]->seen[i]; }
  }
}

Fiber* make_fiber(Block* b, int thread) {
  Fiber* f = new Fiber;
  f->block = b; f->thread = thread; f->lane = thread % 32; f->warp = thread / 32;
  f->seen[f->lane] = 1;
  if (stacks.empty()) {
    void* p = mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) abort();
    mprotect(p, PAGE, PROT_NONE);
    stacks.push_back((char*)p);
  }
  f->stack = stacks.back(); stacks.pop_back();
  getcontext(&f->start);
  f->start.uc_stack.ss_sp = f->stack; f->start.uc_stack.ss_size = STACK; f->start.uc_link = nullptr;
  makecontext(&f->start, enter, 0);
  return f;
}

Block* make_block(unsigned number) {
  Block* b = new Block; size_t bytes = (launch.shared + 255) / 256 * 256;
  b->number = number; b->alive = launch.size;
  b->shared = bytes ? (char*)aligned_alloc(256, bytes) : nullptr;
  if (bytes) memset(b->shared, 0xff, bytes);
  b->memory = {(uintptr_t)b->shared, launch.shared, true, true, {}};
  for (unsigned t = 0; t < launch.size; ++t) {
    b->fibers.push_back(make_fiber(b, t)); pool.push_back(b->fibers.back());
  }
  return b;
}

void end_block(Block* b) {
  for (auto* f : b->fibers) { stacks.push_back(f->stack); delete f; }
  free(b->shared);
  delete b;
}
}  // namespace

extern "C" {
Index emu_thread_index() { return {(unsigned)current->thread}; }
Index emu_block_index() { return {current->block->number}; }
Index emu_block_size() { return {launch.size}; }
Index emu_grid_size() { return {launch.grid}; }
void* emu_shared() { return current->block->shared; }
void emu_block_sync(const void* site) {
  current->state = AT_BARRIER; current->site = site;
  pass_barrier(current->block);
  give_way();
}
uint64_t emu_warp(unsigned mask, uint64_t value, int kind, int argument, const void* site) {
  Fiber* f = current;
  if (!(mask >> f->lane & 1)) { find("lane outside its own warp mask", site); return value; }
  f->state = AT_WARP; f->site = site; f->mask = mask; f->value = value;
  f->kind = kind; f->argument = argument;
  pass_warp(f);
  if (f->state != RUNNABLE) give_way();
  return f->value;
}
void emu_access(const void* a, int n, int writes, int atomic, const void* site) {
  access(a, n, writes, atomic, site);
}
#define HOOKS(n) \
  void __tsan_read##n(void* p) { access(p, n, false, false, __builtin_return_address(0)); } \
  void __tsan_write##n(void* p) { access(p, n, true, false, __builtin_return_address(0)); } \
  void __tsan_unaligned_read##n(void* p) { access(p, n, false, false, __builtin_return_address(0)); } \
  void __tsan_unaligned_write##n(void* p) { access(p, n, true, false, __builtin_return_address(0)); }
HOOKS(1) HOOKS(2) HOOKS(4) HOOKS(8) HOOKS(16)
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}

void emu_reset() {
  spaces.clear(); findings.clear(); sectors_read.clear(); sectors_written.clear();
  accesses = wide = switches = 0; last_hit = 0;
}
void emu_argument(const void* p, size_t bytes, int writable) {
  spaces.push_back({(uintptr_t)p, bytes, writable != 0, false, {}});
}
// seed 0: blocks and threads in order, no breaks
void emu_launch(void (*kernel)(void**), void** arguments, unsigned grid, unsigned size,
                size_t shared, uint64_t seed, int break_one_in, int resident, int checked) {
  launch = {kernel, arguments, grid, size, shared, seed ? break_one_in : 0, checked != 0};
  state = seed * 0x9E3779B97F4A7C15ull + 0x1234567;
  std::vector<unsigned> order(grid);
  for (unsigned i = 0; i < grid; ++i) order[i] = i;
  if (seed) shuffle(order);
  std::vector<Block*> live; size_t next = 0;
  while (next < grid || !pool.empty()) {
    while ((int)live.size() < resident && next < grid) live.push_back(make_block(order[next++]));
    std::vector<Fiber*> runnable;
    for (auto* f : pool) if (f->state == RUNNABLE) runnable.push_back(f);
    if (runnable.empty()) {
      for (auto* f : pool)
        find(f->state == AT_BARRIER ? "deadlock at __syncthreads" : "deadlock within a warp", f->site);
      for (auto* b : live) end_block(b);
      pool.clear();
      return;
    }
    if (seed) shuffle(runnable);
    for (auto* f : runnable) {
      if (f->state != RUNNABLE) continue;
      resume(f);
      if (f->state == DONE) pass_barrier(f->block);
    }
    pool.erase(std::remove_if(pool.begin(), pool.end(), [](Fiber* f) { return f->state == DONE; }), pool.end());
    std::vector<Block*> left;
    for (auto* b : live) if (b->alive) left.push_back(b); else end_block(b);
    live.swap(left);
  }
}
int emu_findings(char* out, int size) {
  std::string text;
  for (auto& f : findings) text += f.first + " (" + std::to_string(f.second) + " times)\n";
  snprintf(out, size, "%s", text.c_str());
  return (int)findings.size();
}
void emu_traffic(long* out) {
  out[0] = sectors_read.size() * SECTOR; out[1] = sectors_written.size() * SECTOR;
  out[2] = wide; out[3] = accesses; out[4] = switches;
}
}
