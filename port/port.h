/* port.h - what the rooms of adrev-port share.
 *
 * adrev-port reads C as a tree that clang prints, finds out which numbers
 * depend on the inputs, and writes the functions again with these numbers
 * recorded. Rooms, each of which calls those above it:
 *
 *   options      what the command line says
 *   text         slices, names, buffers, memory
 *   json         reads JSON
 *   source       files, places, macros
 *   messages     refusals and notes
 *   tree         the tree that clang prints
 *   types        types of C, with an activity for each number in them
 *   spelling     types as C spells them
 *   library      functions of the C library that it knows
 *   alike        types that several units declare
 *   names        declarations by their names
 *   units        the files that are read
 *   edges        edges from number to number
 *   steps        pointers that step from one member to the next
 *   singles      numbers each of which is made of one input
 *   later        what is decided when it is known what is active
 *   caches       comparisons that ask whether a result may be used again
 *   copies       comparisons of which the run sees whether a derivative is lost
 *   equal        questions whether two numbers are equal
 *   orders       orders that together ask the same
 *   globals      data at file scope, which other code may see
 *   inputs       which numbers are inputs and outputs
 *   calls        what flows in calls of functions that are not looked at
 *   tested       pointers that are only compared with NULL
 *   instances    functions that are looked at anew for each call; which run once
 *   own          functions that stay the program's own
 *   flow         what flows where; which numbers are active
 *   gaps         what must be written again, and the text between it
 *   words        the words of a declaration that say the type
 *   operators    names of operators
 *   kept         macros that stay
 *   initialisers writes initialisers
 *   expressions  writes expressions
 *   statements   writes statements and declarations
 *   signatures   the heads of functions that are written
 *   helpers      small functions that twins call
 *   lines        lines of 80 columns
 *   meanings     what macros mean at a place of the file that is written
 *   head         its head
 *   seen         what its includes say, and what they said to each source
 *   places       whether macros mean in it what they mean in the program
 *   output       the file that is written
 *   stubs        externals for functions whose source is not seen
 *   arguments    what a check passes to a function, and what it reads back
 *   ties         points where inputs are equal, in a check
 *   check        builds and runs twin and original
 *   main         the command line
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef PORT_H
#define PORT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* === text ================================================================= */

typedef struct text {
    const char *at;
    size_t n;
} text;

typedef struct buffer {
    char *at;
    size_t n, room;
} buffer;

#define T(literal) ((text){ "" literal, sizeof literal - 1 })

static inline bool same(text a, text b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, a.n) == 0);
}

static inline bool is(text t, const char *s)
{
    return same(t, (text){ s, strlen(s) });
}

void *take(size_t bytes);               // zeroed; kept until the end
void *grow(void *old, size_t *room, size_t need, size_t each);
text text_of(const char *s);
char *text_copy(text t);                // with a 0 at its end
bool starts(text t, const char *s);
size_t find(text t, const char *s);     // t.n if it is not there
void put(buffer *b, const char *s);
void put_text(buffer *b, text t);
void put_char(buffer *b, char c);
void putf(buffer *b, const char *format, ...);
void put_list(buffer *b, const char *format, va_list list);
text text_in(const buffer *b);
bool word_char(char c);
const char *base_name(const char *path);
text read_file(const char *path, bool *found);
bool write_file(const char *path, text t);

// What is kept under a name in a unit, or under -1 for all units.
typedef struct name_row {
    text name;
    int unit;
    void *is;
} name_row;

typedef struct names {
    name_row *row;
    size_t room, count;
} names;

void *name_find(const names *all, text name, int unit);
void name_set(names *all, text name, int unit, void *is);

/* === json ================================================================= */

void json_begin(text t);
void json_begin_pipe(int descriptor);   // while its other end is written
bool json_more(void);
bool json_object(void);                 // one is next
bool json_next(char c);
bool json_member(text *name, bool *first);
text json_string(void);
text json_scalar(void);
void json_skip(void);

/* === tree ================================================================= */

// Kinds that are understood. What is not listed is refused where a number
// could be in it.
#define KINDS(ROW)                                                          \
    ROW(TranslationUnitDecl) ROW(TypedefDecl) ROW(RecordDecl)               \
    ROW(FieldDecl) ROW(IndirectFieldDecl) ROW(EnumDecl)                     \
    ROW(EnumConstantDecl) ROW(VarDecl) ROW(ParmVarDecl) ROW(FunctionDecl)   \
    ROW(LabelDecl) ROW(StaticAssertDecl) ROW(EmptyDecl)                     \
    ROW(CompoundStmt) ROW(DeclStmt) ROW(IfStmt) ROW(ForStmt)                \
    ROW(WhileStmt) ROW(DoStmt) ROW(SwitchStmt) ROW(CaseStmt)                \
    ROW(DefaultStmt) ROW(BreakStmt) ROW(ContinueStmt) ROW(ReturnStmt)       \
    ROW(GotoStmt) ROW(LabelStmt) ROW(NullStmt) ROW(AttributedStmt)          \
    ROW(DeclRefExpr) ROW(ParenExpr) ROW(ImplicitCastExpr)                   \
    ROW(CStyleCastExpr) ROW(IntegerLiteral) ROW(FloatingLiteral)            \
    ROW(CharacterLiteral) ROW(StringLiteral) ROW(PredefinedExpr)            \
    ROW(UnaryOperator) ROW(BinaryOperator) ROW(CompoundAssignOperator)      \
    ROW(ConditionalOperator) ROW(CallExpr) ROW(MemberExpr)                  \
    ROW(ArraySubscriptExpr) ROW(InitListExpr) ROW(ImplicitValueInitExpr)    \
    ROW(CompoundLiteralExpr) ROW(UnaryExprOrTypeTraitExpr)                  \
    ROW(ConstantExpr) ROW(OffsetOfExpr) ROW(StmtExpr)                       \
    ROW(OpaqueValueExpr) ROW(BinaryConditionalOperator)                     \
    ROW(GenericSelectionExpr) ROW(FullComment)

typedef enum kind {
    NO_NODE, UNKNOWN_KIND,
#define ROW(name) name,
    KINDS(ROW)
#undef ROW
    KIND_COUNT
} kind;

typedef struct spot {           // a token
    int file;                   // -1: nowhere
    uint32_t at, n;
    uint32_t line, col;
} spot;

typedef struct place {
    spot spelled;
    spot expanded;              // the same if no macro is expanded
    bool macro;
    bool argument;              // stands in an argument of the macro
} place;

typedef struct ty ty;

typedef struct node {
    kind kind;
    text kind_name;
    uint64_t id;
    text name, type, desugared, opcode, value, cast, storage, tag, arg_type;
    uint64_t ref;               // the declaration that is named
    text ref_name, ref_kind, ref_type;
    uint64_t previous;          // the declaration before this one
    place begin, end, loc;
    struct node **kid;
    int kids;
    struct node *parent;
    struct node *decl;          // found by ref
    unsigned arrow : 1, postfix : 1, has_else : 1, has_init : 1, has_var : 1;
    unsigned variadic : 1, bitfield : 1, implicit : 1, is_inline : 1;
    unsigned complete : 1, init : 1, filled : 1;
    unsigned selected : 1;      // of _Generic
    // analysis
    ty *ty;
    struct record *record;      // of RecordDecl
    struct function *function;  // of FunctionDecl
    unsigned wanted : 1;        // is written
    unsigned renamed : 1;       // its twin has another name
    unsigned visited : 1;
    unsigned touched_known : 1, touched : 1;
    unsigned outer_write : 1;   // data that code writes which is not converted
    unsigned outer_use : 1;     // data that such code names
    unsigned inner_write : 1;   // data that code writes which is converted
    unsigned followed : 1;      // of data: files that they need are read
    unsigned in_type : 1;       // of data: the size of an array names them
    unsigned writes : 1;        // of a name: what it names may change here
    unsigned changing : 1;      // of data: some function changes them
    unsigned addressed : 1;     // a function whose address is taken here
    unsigned asks_tie : 2;      // a comparison, of which the run sees more
    struct node *use;           // the first, of data
    const struct function *writer;  // of data: the first that is not converted
    ty *arg;                    // of sizeof: the type that is named
    struct node *copy;          // the latest
    unsigned sized : 1;         // of sizeof: what it is the size of is known
    ty **uses;                  // of TypedefDecl: the types that name it
    size_t use_room, use_count;
    int unit;
    struct node *alike;         // of a type: the same one of an earlier unit
    struct node *older;         // of a type: the one before with this name
    int item;                   // that writes it, counted from 1
    text prefix;                // of a twin, where two files have this name
    unsigned inside, outside;   // of data: marks of own.c
    unsigned counted : 2;       // of bytes: 1 of recorded numbers, 2 of others
    unsigned otherwise : 1;     // of a header: not what the written file includes
    struct nodes *stores;       // of a body, or of a variable: see stores_in
    struct names *places;       // of a body: see writes_of
    unsigned begins, ends;      // what is in it: counted in a body by writes_of
    unsigned changes : 1;       // of a number in a function: code there writes it
    unsigned changes_known : 1; // of a function: whether each number in it does
} node;

typedef struct nodes {
    node **at;
    size_t n, room;
} nodes;

node *tree_read(int unit);      // of the JSON that has begun; NULL: not a tree
node *tree_copy(node *n);               // its declarations are new ones
node *node_by_id(uint64_t id);
extern node *tree;                      // of all units

/* === source =============================================================== */

typedef struct file {
    char *path;
    text text;
    bool read;
    int source;                 // of a unit, counted from 1
    size_t included;            // where its source includes it, which is a source,
                                // too: the last time
    size_t first, last;         // where that is between which macros may change
    bool again;                 // it is included twice, or more often
} file;

typedef struct span {           // part of a file
    int file;
    size_t begin, end;
} span;

typedef struct macro {
    text name;
    bool call;                  // has parameters
    span at;                    // the directive, if it is in a source
    span undef;                 // where it ends, if it does in a source
    text body;
    bool given;                 // on the command line
    bool setting;               // where includes of the written file are
    bool wanted;
    bool gone;                  // names itself, and is written as what it stands for
    bool passing;               // a header undefines it: elsewhere it is not there
    int unit;
    struct macro *before;       // the definition before this one
} macro;

typedef struct header {
    int file;
    size_t at;                  // in the source, which includes it there, or includes
                                // what includes it
} header;

// A translation unit: a file that is compiled, and what it includes.
typedef struct translation {
    const char *path;
    int file;
    const char **flag;
    int flags;
    bool given;                 // named on the command line
    bool tried;
    bool linked;                // not read, but the original calls functions of it
    node *root;                 // NULL: not read
    int first, last;            // its declarations, among those of the tree
    header *header;             // files that are read for it
    size_t header_room, headers;
    text printed;               // by clang -E -dD
} translation;

extern translation *units;
extern int unit_count;
int source_unit(int index);             // whose source the file is, or -1
void source_set(int index, int unit);
bool behind(span a, span b);            // a is read behind b, in one unit
void unit_include(int unit, int file, size_t at);
bool system_file(int index);
bool includes_behind(int unit, int file, size_t at);
bool means_more(text t, int index, int unit);
int file_named(text path);
file *file_at(int index);
void lines_of(int index, size_t at, unsigned *line, unsigned *col);
span span_of(const node *n);
text slice(span s);
text token(spot s);
bool in_macro(const node *n);           // all of it from one expansion
bool one_macro(const node *a, const node *b);
bool spelled_whole(const node *n, span *s);     // an argument as it is written
void macros_read(text dump, int unit);
macro macro_read(text t, size_t at);    // behind `define`
size_t behind_directive(text t, size_t line, const char *word); // 0: another one
size_t line_end(text t, size_t at);
bool line_marker(text t, size_t i, int *file, unsigned *line);
bool same_tokens(text a, text b);
macro *macro_named(text name, int unit);
const macro *macro_for(text word, int unit);
macro *next_given(const translation *u, size_t *i);
bool same_macro(const macro *a, const macro *b);
bool is_passing(text name, int unit);
void macro_goes(text name, spot s, int unit);
bool names_gone(text t, int unit);
void drop_gone(buffer *b, size_t from, int unit);
size_t comment_before(int index, size_t at);
size_t skip_blank(text t, size_t at);   // white space and comments
size_t skip_token(text t, size_t at);
size_t closing(text t, size_t at);      // of the bracket at `at`: behind it

/* === types ================================================================ */

typedef enum makeup {           // of how many inputs a number is made (singles.c)
    OF_NONE, OF_ONE, OF_EACH, OF_SEVERAL
} makeup;

typedef struct num {            // the activity of numbers
    struct num *same;           // joined with
    makeup made;
    const struct num *only;     // OF_ONE: the input
    const struct num *fed_by;   // the number that came first
    enum { ALONE, WITH_OTHERS, WITH_ITSELF } mixes;
    unsigned stamp;             // of the latest search that came by
    unsigned index;
    bool varied, useful;
    unsigned stepped;           // bit n: n pointers lead here, and the first one
                                // steps
} num;

typedef enum ty_kind {
    T_OTHER, T_VOID, T_NUM, T_PTR, T_ARR, T_FUN, T_REC
} ty_kind;

enum { Q_CONST = 1, Q_VOLATILE = 2, Q_RESTRICT = 4 };

struct ty {
    ty_kind kind;
    unsigned quals;
    text name;                  // of T_OTHER and T_NUM
    node *alias;                // the typedef that it is written with
    ty *to;                     // of T_PTR, T_ARR; what T_FUN returns
    ty **par;
    int pars;
    bool variadic;
    bool single;                // T_NUM: float
    bool odd;                   // complex, long double, vector: never active
    text size;                  // T_ARR
    struct record *record;
    num *num;
    ty *bound;                  // T_VOID: what such a pointer points to
    const node *bound_at;
    ty *same;                   // T_FUN: joined with
    ty *fullest;                // T_FUN: of those, one of the most parameters
    bool known;                 // T_FUN: some function is behind it
    bool open;                  // T_FUN: one that the user passes may be
};

typedef struct record {
    node *decl;
    text name;                  // tag; or of its typedef
    text pointer;               // of a typedef that is a pointer to it
    bool tagless;
    bool is_union;
    ty **field;
    int fields;
    bool twin;
    bool linked;
    node *use;                  // the first member that is named
} record;

ty *ty_of(text qual, const node *at);   // a fresh tree
ty *ty_new(ty_kind what);
ty *ty_number(void);
num *num_new(void);
num *num_root(num *n);
void num_join(num *a, num *b);
void num_edge(num *from, num *to);
void num_spread(void);
num *num_at(unsigned index);            // NULL: there are not so many
unsigned *edge_lists(bool back, unsigned **start);
void edges_keep_repeated(void);
extern const struct function *edges_in; // where edges are made; NULL: in a loop
void singles_find(void);
bool num_returns(const num *n);         // it is computed of itself, again and again
bool is_of_one(const ty *t);            // each of these numbers
bool num_active(const num *n);
bool active(const ty *t);               // a number that is recorded
bool ty_changed(const ty *t);           // something in it is
bool record_twin(record *r);
record *record_of(node *decl);
void record_share(node *decl, record *r);
bool record_seen(const record *r, int unit);    // what is in it
void records_link(void);
void records_settle(void);
ty *ty_root(ty *t);                     // of T_FUN
ty *only_numbers(ty *t);                // the first of them, if all are alike
ty *ty_bound(ty *t);                    // what a pointer to void points to
ty *ty_base(ty *t);                     // behind pointers and arrays
void ty_print(buffer *b, const ty *t, text name);
extern bool types_plain;                // it prints types of the source
void join(ty *a, ty *b, const node *at);        // of one and the same type
void each_number(ty *t, void (*f)(ty *number, void *ctx), void *ctx);
void join_number(ty *t, void *with);            // of the two, both are recorded or none
void typedef_note(node *decl);
bool typedef_plain(const node *decl);   // something that names it is not
bool typedef_twin(const node *decl);    // something that names it is recorded
void record_entitle(node *decl, text name);
node *typedef_named(text name, int unit);
bool types_conflicts(void);             // true: something was refused

/* === messages ============================================================= */

bool refuse(const node *at, const char *proposal, const char *format, ...);
void refuse_line(span at, const char *proposal, const char *said);
void note(const node *at, const char *format, ...);
extern int refused;
void refusals_print(void);
void notes_print(buffer *b, const char *before);

/* === library ============================================================== */

typedef enum library_kind {
    L_NONE,
    L_OPERATION,        // a row of the operator table
    L_VALUE,            // of the value alone: isnan, lround
    L_HELPER,           // written by a helper: gsl_pow_2
    L_PARTS,            // and parts of it through pointers: frexp, sincos
    L_STEP,             // a step: its derivative is 0
    L_PASSIVE,          // looks at values, computes no number: printf
    L_ALLOC, L_COPY, L_SET, L_FREE,
    L_PLACE,            // allocates, and puts the address where the first
                        // argument points
    L_SORT,             // refused for numbers
    L_CONSTANT,         // returns a number that depends on nothing
    L_REFUSED           // has no derivative here: frexp
} library_kind;

typedef struct library {
    library_kind kind;
    const char *name;           // of the operator
    int numbers;                // arguments that are numbers; others as they are
    bool single;                // the float version
    const char *why;
} library;

library library_named(text name);

/* === program ============================================================== */

typedef struct function {
    text name;
    node *decl;                 // its definition, or any declaration
    node *body;                 // NULL: not seen
    ty *type;
    bool reached;
    bool changed;               // has active numbers
    bool addressed;             // its address is taken
    bool with_value;            // of the C library: its bits are not the operation's
    bool entry;
    bool stub;
    bool wrapper;               // an operation whose address is taken
    struct function *origin;    // of an instance: the function it is one of
    struct function *caller;    // where it is called first
    struct function *merged;    // an instance that is the same
    const struct function **calls;  // that call it; NULL: in a loop
    size_t call_room, call_count;
    bool once;                  // runs once for each call of the program
    int number;                 // of an instance: 2, 3 ...
    int instances;
    bool called;
    int position;               // among those that are written
    bool early;                 // named before it is written
    bool settled;               // where it stands
    bool announced;             // has a prototype
    bool followed;              // files that it needs are read
    bool own;                   // stays the program's own
    bool in_type;               // the size of an array names it
    unsigned inside, outside;   // marks of own.c
    struct function *waiting;
    node *also;                 // another definition, in another file
    struct function *next;
} function;

extern function *functions;
void function_add(function *f);
function *function_of(node *decl);
node *declared(node *n);                // the one that stands for all of a name
node *data_meant(node *d);              // the same, of a declaration of data
node *body_of(node *decl);
node *variable_named(text name, int unit);
node *outer_variable(const node *at, text name);
function *function_named(text name, int unit);
function *function_called(const node *call);    // NULL: by a pointer
function *function_written(function *f);        // of merged ones the first

typedef struct option {
    text name, count;
} option;

typedef struct setting {
    text name, value;
    bool used;
} setting;

// Whether two numbers are equal.
typedef struct question {
    node *a, *b;                // without parentheses and casts
    const function *in;
} question;

typedef struct options {
    setting *set;
    int sets;
    const char *self;
    const char *out, *suffix, *number, *stubs, *commands, *clang, *depend;
    const char **file;
    int files;
    option *with, *of;
    text *entry, *equal;
    int withs, ofs, entries, equals;
    bool all, check, notes, whole;
    int points;
    unsigned seed;
    const char **flags;
    int flag_count;
    const char *rec, *acc;
    text stub_text;
} options;

extern options opt;

void names_read(int unit);              // functions and data
void names_settle(void);                // when all units are read
void alike_read(void);                  // types
bool same_code(const node *a, const node *b);
bool units_list(void);                  // those that may be read
text includes_printed(text includes);   // by clang -E -dD
int unit_beside(void);                  // of what is no file
bool depend_write(void);
void put_quoted(buffer *b, const char *s);      // for the shell
void flags_put(buffer *b, const translation *u);
bool units_read(void);                  // those that are needed
function *entry_named(text name);
bool flow_run(void);                    // false: wrong use, which it says
node *base_node(node *n);               // without parentheses and casts
node *selected_node(const node *n);     // of _Generic
text callee_name(const node *call);
library call_library(const node *call);
bool is_number(const node *n);          // its type is a number
const node *local_variable(const node *n);      // that n names; NULL: none
const node *condition_of(const node *n);        // of an if, ?:, switch or loop
bool is_loop(const node *n);
bool is_condition(const node *n);       // of an if or a loop
bool is_jump(const node *n);            // a return, break, continue or goto
const node *last_statement(const node *n);      // of a block, or of
                                        // do { } while (0); else n itself
void twin_name(buffer *b, const node *decl);

void step_note(ty *pointer);            // it goes to other elements
void address_note(const node *n);       // the address of it is taken
void steps_settle(void);

void from_hub(ty *t, void *hub);        // an edge
void to_hub(ty *t, void *hub);
void entangle(ty *t, ty *hub);          // edges in both ways
void entangle_all(const node *n, ty *hub);
ty *other(void);                        // no number
ty *computed(node *n);                  // a number of its own
void flows(ty *from, ty *to);
void assign(ty *to, ty *from, node *at);
void compared(ty *t);
void seed_inputs(function *f);
void seed_outputs(function *f);
void say_function(text name);           // that it is not defined
bool names_are_right(void);             // false: it says which are not
bool inputs_have_numbers(void);

bool one_of(text o, const char *list);  // of words between blanks
ty *pointee(ty *t);
ty *result_of(ty *f, node *call);
ty *see_library(node *call, library l, ty **arg, int n);
ty *see_unseen(node *call, ty **arg, int n);
ty *see_undeclared(node *call, ty **arg, int n);
void see_printed(node *call, ty *arg, const char *why);
bool prints_only(const function *f);    // its further arguments
bool gives_memory(const function *f);   // like malloc
bool only_tested(const node *call, int i);      // an argument: whether it is NULL
bool stub_given(text name);
void stub_flows(ty *f);

extern function *flow_in;               // that is looked at
void reach(function *f, int unit);      // by what is in the unit
void see_variable(node *d);             // of file scope
function *origin_of(function *f);
function *instance_of(function *f);
void call_instance(node *callee, function *f);
void merge_instances(void);
void call_note(function *f);            // a call is seen
bool has_label(const node *n);
void once_find(void);                   // which functions run once
void own_settle(void);
bool is_inside(unsigned mark);          // what is written needs it
unsigned inside_mark(void);

typedef enum later_kind {
    ODD,                // the function must have nothing recorded
    PRINTED,            // where numbers are read, too: they may come back
    TOLD,               // the same, to a function that is not seen
    ODD_HERE,           // type: nothing that varies may get there
    WRAPPED,            // memory by a function of the program
    KEPT,               // static data: it must be written before it is read
    SIZE,               // a sizeof: of what is known
    UNSEEN,             // of a call: nothing that varies may get there
    OUTSIDE,            // of a call: the function's source may not be seen
    POINTER,            // type: a function must be known behind it
    BYTES,              // type: nothing recorded may be in it
    MEMORY,             // of a call: how many bytes, of what
    SORTED
} later_kind;

void put_off(later_kind what, node *at, ty *type, const char *why,
             const char *proposal);
void laters_check(void);
void odd_numbers(node *n);              // refuses long double and the like
bool holds_varied(ty *t);               // some number in it depends on inputs
bool holds_active(ty *t);               // and is recorded
const node *unseen_call(void);          // of what is not seen; NULL: there is none
void writes_find(void);
bool data_changes(const node *d);       // static ones
bool fixed_type(const node *d);         // const
void globals_check(void);
void caches_check(void);                // of results that are used again
void equal_check(void);                 // of numbers that are compared
void orders_check(void);
enum { OF_TWO = 1, OF_CONSTANT };       // what is compared, where asks_tie is set
bool run_sees(node *n, const question *q);      // and the tape fails
void constants_check(void);             // that numbers of several inputs are equal to
bool is_truth(const node *n);           // it is asked for
node *unsigned_part(node *n);           // |d| or d*d: then d; or NULL
bool is_folded(const node *n, const function *in);      // it is |d| or d*d
bool equal_allowed(const function *f);  // the user says that this is meant
bool varies(const node *n);             // a number that depends on inputs
int parameter_index(const function *f, const node *n);  // of a name; or -1
// The operation whose operands are equal where n is 0, or 1; NULL: there is none.
const node *two_in(node *n, node *constant, const function *in);
bool are_apart(const question *q);
// What a local variable is, which gets nothing else; NULL: it is something else.
node *begins_as(const node *n, const function *in);
bool equal_harmless(const node *answer, const question *q);
void refuse_equal(const node *answer, const question *q);
void questions_print(void);             // comparisons of numbers, for a check
extern bool flow_reads;                 // numbers are read from a file
extern bool flow_compares_texts;

/* === writing ============================================================== */

typedef enum form { F_PLAIN, F_NUMBER, F_EXPR } form;

extern int unit_written;                // of what is written now
bool open_comma(text t);                // that would part arguments
bool is_store(const node *n);           // = += ++ and the like
nodes *nodes_with(nodes *list, node *n);
const nodes *stores_in(const node *body, const node *variable);
// What a local variable gets: its initialiser, and then what is stored; or NULL.
node *given(const node *body, const node *variable, size_t i);
bool has_effect(const node *n);         // in it is a store, or a call
bool is_pure(const node *n);            // it may be computed once more
const char *operator_of(text o);        // NULL: no operator of numbers
const char *change_name(const char *op);
const char *compound_name(text o);
void put_break(buffer *b, const node *left, const node *right, bool apart);
bool touched(node *n);                  // something in it is written otherwise
bool touched_itself(node *n);           // not only something in it
bool number_of(const node *n);          // a recorded number
bool is_state(const node *n);            // static data that may change
node *number_zero(void);
bool reads_it(const node *n, const node *at);    // the text of `at` is in n
const node *constant_variable(const node *n);    // NULL: it is none
bool is_under(const node *n, const node *root);
// Where in the body something may be written that has this name in its place.
const nodes *writes_of(const function *f, text name);
size_t first_from(const nodes *list, unsigned begins);  // list->n: none
bool is_changed(const node *n, const node *x, const function *in);   // in n
bool is_zero(node *n);                  // the literal
bool whole_macro(const node *n);        // n is all that its macro stands for
bool write_kept(buffer *b, node *n);    // false: not by the macro, but from the tree
void write_as(buffer *b, node *n, form want, bool apart);
void write_truth(buffer *b, node *n, bool apart);
void write_void(buffer *b, node *n, bool apart);
void write_init(buffer *b, node *n, ty *t, bool apart, bool fixed);
void write_stmt(buffer *b, node *n, bool apart, int indent);
void write_body(buffer *b, function *f);
bool first_declarator(const node *d);
void write_group(buffer *b, node **decl, int n, bool apart, span all);
void write_record(buffer *b, node *r);
bool macro_declares(text words, int unit);
bool names_macro(text words, int unit);
void write_type_words(buffer *b, text words, const ty *base);
void write_gaps(buffer *b, node *n, bool apart,
                void (*each)(buffer *, node *, bool));
void write_typedef(buffer *b, node *d, bool first);
void write_signature(buffer *b, function *f);
bool stands_apart(const function *f);   // its head is written from its type
void signature_apart(buffer *b, const function *f);
void add_parts(buffer *b, text all);    // those that `all` calls
void add_wrappers(buffer *b);           // operations whose addresses are taken
void trim(buffer *b);                   // blanks and ends of lines at its end
void put_lines(buffer *b, text t);
void put_head(buffer *b);
text includes_of(int unit);             // with what is defined before them
bool system_asks(const macro *m);        // a header of the system tests it
bool setting_stays(text name);          // behind them
void seen_read(void);                   // before anything is written
void seen_check(void);                  // when it is known what is needed
void seen_again(text printed);          // all that is written
void passage_add(const node *of, text t, size_t at);
void passages_check(text written);
bool adrev_included(void);              // a source includes it
extern int unit_of_includes;            // whose macros are theirs; -1: not read
extern names needed;                    // words that are written, by units
macro *current_macro(text name);
void put_definition(buffer *b, const macro *m);
void put_macro(buffer *b, macro *m);    // unless it is there
void put_undef(buffer *b, const macro *m);
void put_ends(buffer *b);               // of macros that headers define anew
bool write_output(buffer *b);
bool stubbable(const function *f);      // a stub can be written for it
bool stubs_write(void);
bool put_wrapper(buffer *b, const function *f, bool of_twin);
void put_ties(buffer *b);               // a part of the driver of a check
int check_run(text twin);

#endif
