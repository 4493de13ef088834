/* graphc_draw_dot.c - a picture as Graphviz text: what looks how, and every word escaped. */
#include "host_tools/graphc/draw/graphc_draw.h"
#include "host_tools/graphc/graphc_text.h"
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 16, FEW = 12, MANY = 40 }; /* nodes that get large letters; from where on letters are small */

/* Fill and line colours; all keep letters readable in grey. */
#define NODE_LOOK "fillcolor=\"#E8F0FA\" color=\"#30588C\""
#define INSERTED_LOOK "fillcolor=\"#FFF3C4\" color=\"#9A6B00\" style=\"filled,rounded,dashed\""
#define IN_LOOK "fillcolor=\"#DFF3E3\" color=\"#2E7D46\""
#define OUT_LOOK "fillcolor=\"#FBE3DC\" color=\"#A8492C\""
#define DELAYED_LOOK " style=dashed color=\"#7A2E8E\" fontcolor=\"#7A2E8E\""
#define SCOPE_LOOK "style=\"rounded,filled\" fillcolor=\"#F6F6F6\" color=\"#8A8A8A\""

bool tw_pic_open(tw_pic_t *p, uint32_t nodes, uint32_t ios, uint32_t arcs, uint32_t scopes)
{
    *p = (tw_pic_t){.n_nodes = nodes, .n_ios = ios, .n_arcs = arcs, .n_scopes = scopes};
    p->nodes = calloc((size_t)nodes + 1, sizeof *p->nodes);
    p->ios = calloc((size_t)ios + 1, sizeof *p->ios);
    p->arcs = calloc((size_t)arcs + 1, sizeof *p->arcs);
    p->scopes = calloc((size_t)scopes + 1, sizeof *p->scopes);
    if (p->nodes == NULL || p->ios == NULL || p->arcs == NULL || p->scopes == NULL) {
        tw_pic_close(p);
        return false;
    }
    return true;
}

void tw_pic_close(tw_pic_t *p)
{
    free(p->nodes);
    free(p->ios);
    free(p->arcs);
    free(p->scopes);
    *p = (tw_pic_t){0};
}

/* ---- escaping ----------------------------------------------------------------------- */

/* A quoted string of the Graphviz language. Newlines of tips stay newlines. */
static void say_quoted(g_text_t *t, const char *s)
{
    const char *end = s + strlen(s);
    g_say(t, "\"");
    while (s < end) {
        const uint32_t n = g_utf8(s, end);
        if (n == 1 && (*s == '"' || *s == '\\')) {
            g_say(t, "\\%c", *s);
        } else if (n == 0) {
            g_say(t, *s == '\n' ? "\\n" : "?");
        } else {
            g_say(t, "%.*s", (int)n, s);
        }
        s += n > 0 ? n : 1;
    }
    g_say(t, "\"");
}

/* Text inside a label in the manner of HTML. */
static void say_html(g_text_t *t, const char *s)
{
    const char *end = s + strlen(s);
    while (s < end) {
        const uint32_t n = g_utf8(s, end);
        if (n == 1 && strchr("&<>\"", *s) != NULL) {
            g_say(t, "&#%d;", *s);
        } else {
            g_say(t, "%.*s", n > 0 ? (int)n : 1, n > 0 ? s : "?");
        }
        s += n > 0 ? n : 1;
    }
}

/* ---- parts --------------------------------------------------------------------------- */

static int node_points(const tw_pic_t *p)
{
    return p->n_nodes <= FEW ? 12 : p->n_nodes <= MANY ? 11 : 10;
}

static void say_label(g_text_t *t, const tw_pic_t *p, const char *name, const char *second, const char *third)
{
    const char *const lines[] = {second, third};
    g_say(t, "label=<<b>");
    say_html(t, name);
    g_say(t, "</b>");
    for (size_t i = 0; i < TW_COUNT(lines); i++) {
        if (lines[i][0] != 0) { /* an empty font is an error to Graphviz */
            g_say(t, "<br/><font point-size=\"%d\">", node_points(p) - 2);
            say_html(t, lines[i]);
            g_say(t, "</font>");
        }
    }
    g_say(t, ">");
}

/* "node filter.0": what screen readers say, and one name space for nodes and IOs. */
static void say_id(g_text_t *t, const tw_pic_t *p, uint32_t end)
{
    char id[TW_SYMBOL_MAX + 8];
    const bool io = (end & TW_PIC_IO) != 0;
    const char *name = io ? p->ios[end & ~TW_PIC_IO].name : p->nodes[end].name;
    const char *kind = !io ? "node" : p->ios[end & ~TW_PIC_IO].out ? "output" : "input";
    const char *const parts[] = {kind, " ", name};
    size_t n = 0;
    for (size_t i = 0; i < TW_COUNT(parts); i++) {
        const size_t len = strlen(parts[i]), room = sizeof id - 1 - n;
        memcpy(id + n, parts[i], len < room ? len : room);
        n += len < room ? len : room;
    }
    id[n] = 0;
    say_quoted(t, id);
}

/* "arm_stream_filter" is what all are called that way: the picture leaves the family out. */
static const char *short_type(const char *type)
{
    static const char family[] = "arm_stream_";
    return strncmp(type, family, sizeof family - 1) == 0 && type[sizeof family - 1] != 0 ? type + sizeof family - 1
                                                                                         : type;
}

/* A node named after its type need not say it twice: filter.0 is a filter. */
static bool named_by_type(const tw_pic_node_t *n)
{
    const char *type = short_type(n->type), *dot = strrchr(n->name, '.');
    const size_t len = strlen(type);
    return dot != NULL && (size_t)(dot - n->name) >= len && memcmp(dot - len, type, len) == 0;
}

/* Inside its box a node need not repeat what the box is called. */
static const char *name_inside(const tw_pic_t *p, const tw_pic_node_t *n)
{
    const char *scope = n->scope > 0 && n->scope < p->n_scopes ? p->scopes[n->scope].name : "";
    const size_t len = strlen(scope);
    const bool inside = len > 0 && strncmp(n->name, scope, len) == 0 && n->name[len] == '.' && n->name[len + 1] != 0;
    return inside ? n->name + len + 1 : n->name;
}

static void say_node(g_text_t *t, const tw_pic_t *p, uint32_t i, int indent)
{
    const tw_pic_node_t *n = &p->nodes[i];
    g_say(t, "%*s", indent, "");
    say_id(t, p, i);
    g_say(t, " [");
    say_label(t, p, name_inside(p, n), p->n_nodes > MANY && named_by_type(n) ? "" : n->type, n->words);
    g_say(t, " %s tooltip=", n->inserted ? INSERTED_LOOK : NODE_LOOK);
    say_quoted(t, n->tip);
    g_say(t, "]\n");
}

static void say_io(g_text_t *t, const tw_pic_t *p, uint32_t i)
{
    const tw_pic_io_t *io = &p->ios[i];
    g_say(t, "  ");
    say_id(t, p, TW_PIC_IO + i);
    g_say(t, " [shape=cds style=filled height=%s margin=\"0.16,0.1\" ", p->n_nodes > MANY ? "0.5" : "0.6");
    say_label(t, p, io->name, io->words, "");
    g_say(t, " %s tooltip=", io->out ? OUT_LOOK : IN_LOOK);
    say_quoted(t, io->tip);
    g_say(t, "]\n");
}

static uint8_t ports(const tw_pic_t *p, uint32_t end, bool tx)
{
    return (end & TW_PIC_IO) != 0 ? 1 : tx ? p->nodes[end].tx : p->nodes[end].rx;
}

static uint32_t row_of(const tw_pic_t *p, uint32_t end)
{
    return (end & TW_PIC_IO) != 0 ? p->ios[end & ~TW_PIC_IO].row : p->nodes[end].row;
}

static bool crosses(const tw_pic_t *p, const tw_pic_arc_t *a)
{
    return row_of(p, a->from) != row_of(p, a->to);
}

/* An arc to another row ends in a circle here and begins in one there, as between the sheets of a drawing. */
static void say_circle(g_text_t *t, const tw_pic_arc_t *a, uint32_t number, bool end)
{
    g_say(t,
          "  \"%s %u\" [shape=circle style=filled fillcolor=white color=\"#505050\" margin=\"0.02\" height=0.2 "
          "label=\"%u\" tooltip=",
          end ? "to" : "from", number, number);
    say_quoted(t, a->tip);
    g_say(t, "]\n");
}

static void say_half(g_text_t *t, const tw_pic_t *p, const tw_pic_arc_t *a, uint32_t number)
{
    g_say(t, "  \"from %u\" -> ", number);
    say_id(t, p, a->to);
    g_say(t, " [%s", a->delayed ? DELAYED_LOOK : "");
    if (ports(p, a->to, false) > 1) {
        g_say(t, " headlabel=\" %u \"", a->to_port);
    }
    g_say(t, " tooltip=");
    say_quoted(t, a->tip);
    g_say(t, "]\n");
}

/* `number` of its circles, 0: it stays in its row. */
static void say_arc(g_text_t *t, const tw_pic_t *p, const tw_pic_arc_t *a, uint32_t number)
{
    const bool few = p->n_nodes <= FEW;
    g_say(t, "  ");
    say_id(t, p, a->from);
    g_say(t, " -> ");
    if (number > 0) {
        g_say(t, "\"to %u\"", number);
    } else {
        say_id(t, p, a->to);
    }
    g_say(t, " [label=<");
    say_html(t, a->format);
    g_say(t, "<br/>");
    if (a->from_bytes == a->to_bytes) {
        g_say(t, few ? "%u B frame, " : "%u / ", a->from_bytes);
    } else {
        g_say(t, few ? "%u &#8594; %u B frames, " : "%u &#8594; %u / ", a->from_bytes, a->to_bytes);
    }
    g_say(t, few ? "%u B buffer>" : "%u B>", a->bytes);
    if (ports(p, a->from, true) > 1) {
        g_say(t, " taillabel=\" %u \"", a->from_port);
    }
    if (number == 0 && ports(p, a->to, false) > 1) {
        g_say(t, " headlabel=\" %u \"", a->to_port);
    }
    g_say(t, "%s%s tooltip=", a->delayed ? DELAYED_LOOK : "", a->delayed && number == 0 ? " constraint=false" : "");
    say_quoted(t, a->tip);
    g_say(t, " labeltooltip=");
    say_quoted(t, a->tip);
    g_say(t, "]\n");
}

/* ---- sub-graphs ------------------------------------------------------------------------- */

/* Nodes and scopes by the scope they stand in: first of each, then the next one; count + 1 ends. */
typedef struct inside {
    uint32_t *first_node, *next_node, *first_scope, *next_scope;
} inside_t;

static bool sort_inside(inside_t *in, const tw_pic_t *p)
{
    in->first_node = calloc((size_t)p->n_scopes + 1, sizeof(uint32_t));
    in->first_scope = calloc((size_t)p->n_scopes + 1, sizeof(uint32_t));
    in->next_node = calloc((size_t)p->n_nodes + 1, sizeof(uint32_t));
    in->next_scope = calloc((size_t)p->n_scopes + 1, sizeof(uint32_t));
    if (in->first_node == NULL || in->first_scope == NULL || in->next_node == NULL || in->next_scope == NULL) {
        return false;
    }
    for (uint32_t i = p->n_nodes; i-- > 0;) {
        const uint32_t s = p->nodes[i].scope < p->n_scopes ? p->nodes[i].scope : 0;
        in->next_node[i] = in->first_node[s];
        in->first_node[s] = i + 1;
    }
    for (uint32_t i = p->n_scopes; i-- > 1;) {
        const uint32_t s = p->scopes[i].parent < i ? p->scopes[i].parent : 0;
        in->next_scope[i] = in->first_scope[s];
        in->first_scope[s] = i + 1;
    }
    return true;
}

static void free_inside(inside_t *in)
{
    free(in->first_node);
    free(in->next_node);
    free(in->first_scope);
    free(in->next_scope);
}

static void open_scope(g_text_t *t, const tw_pic_t *p, uint32_t s, unsigned depth)
{
    g_say(t, "%*ssubgraph cluster_%u { " SCOPE_LOOK " fontsize=%d labeljust=l label=", 2 * (int)depth, "", s,
          node_points(p));
    say_quoted(t, p->scopes[s].name);
    g_say(t, " tooltip=");
    say_quoted(t, p->scopes[s].name);
    g_say(t, "\n");
}

static void say_nodes_of(g_text_t *t, const tw_pic_t *p, const inside_t *in, uint32_t s, unsigned depth)
{
    for (uint32_t i = in->first_node[s]; i > 0; i = in->next_node[i - 1]) {
        say_node(t, p, i - 1, 2 * (int)depth + 2);
    }
}

/* Scopes depth first, by a stack of what comes next on each level. */
static void say_scopes(g_text_t *t, const tw_pic_t *p, const inside_t *in)
{
    uint32_t next[DEPTH_MAX] = {in->first_scope[0]};
    unsigned depth = 0;
    say_nodes_of(t, p, in, 0, 0);
    for (;;) {
        const uint32_t s = next[depth];
        if (s == 0) {
            if (depth == 0) {
                return;
            }
            g_say(t, "%*s}\n", 2 * (int)depth, "");
            depth--;
            continue;
        }
        next[depth] = in->next_scope[s - 1];
        open_scope(t, p, s - 1, depth + 1);
        say_nodes_of(t, p, in, s - 1, depth + 1);
        if (depth + 1 < DEPTH_MAX) {
            next[++depth] = in->first_scope[s - 1];
        } else {
            g_say(t, "}\n");
        }
    }
}

/* ---- frame --------------------------------------------------------------------------------- */

static void say_key(g_text_t *t, const char *fill, const char *border, const char *text)
{
    g_say(t, "<td bgcolor=\"%s\" border=\"1\" color=\"%s\">  %s  </td>", fill, border, text);
}

static void say_legend(g_text_t *t, const tw_pic_t *p)
{
    bool inserted = false, delayed = false;
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        inserted |= p->nodes[i].inserted;
    }
    for (uint32_t i = 0; i < p->n_arcs; i++) {
        delayed |= p->arcs[i].delayed;
    }
    g_say(t, "  label=<<table border=\"0\" cellspacing=\"6\" cellpadding=\"3\"><tr>"
             "<td align=\"left\"><b>");
    say_html(t, p->name);
    g_say(t, "</b>: %u node%s, %u arc%s, %u IO%s</td>", p->n_nodes, p->n_nodes == 1 ? "" : "s", p->n_arcs,
          p->n_arcs == 1 ? "" : "s", p->n_ios, p->n_ios == 1 ? "" : "s");
    say_key(t, "#DFF3E3", "#2E7D46", "input");
    say_key(t, "#FBE3DC", "#A8492C", "output");
    say_key(t, "#E8F0FA", "#30588C", "node");
    if (inserted) {
        say_key(t, "#FFF3C4", "#9A6B00", "inserted by the compiler");
    }
    if (p->n_scopes > 1) {
        say_key(t, "#F6F6F6", "#8A8A8A", "sub-graph");
    }
    if (p->n_nodes > FEW) {
        g_say(t, "<td>at an arrow: format, bytes of a frame / of the buffer</td>");
    }
    if (p->n_rows > 1) {
        g_say(t, "<td>in a circle: goes on at the same number</td>");
    }
    if (delayed) {
        g_say(t, "<td><font color=\"#7A2E8E\">dashed: delayed</font></td>");
    }
    g_say(t, "</tr></table>>\n");
}

static void say_frame(g_text_t *t, const tw_pic_t *p)
{
    const int points = node_points(p), arc_points = points - 3;
    const bool many = p->n_nodes > MANY;
    g_say(t, "digraph ");
    say_quoted(t, p->name);
    g_say(t, " {\n  rankdir=LR nodesep=%s ranksep=%s bgcolor=white pad=0.2\n", many ? "0.18" : "0.35",
          many ? "0.3" : "0.5");
    g_say(t, "  fontname=\"Helvetica\" fontsize=%d labelloc=t labeljust=l tooltip=", points);
    say_quoted(t, p->name);
    g_say(t, "\n");
    say_legend(t, p);
    g_say(t,
          "  node [shape=box style=\"filled,rounded\" fontname=\"Helvetica\" fontsize=%d margin=\"0.1,0.05\" "
          "height=0.3]\n",
          points);
    g_say(t,
          "  edge [fontname=\"Helvetica\" fontsize=%d color=\"#505050\" fontcolor=\"#404040\" arrowsize=0.6 "
          "labelfontsize=%d]\n",
          arc_points, arc_points);
}

/* Everything of one row: Graphviz keeps what a box holds together, and the box is not drawn. */
static void say_row(g_text_t *t, const tw_pic_t *p, uint32_t row, const uint32_t *numbers)
{
    g_say(t, "  subgraph cluster_row_%u { style=invis label=\"\"\n", row);
    for (uint32_t i = 0; i < p->n_ios; i++) {
        if (p->ios[i].row == row) {
            say_io(t, p, i);
        }
    }
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        if (p->nodes[i].row == row) {
            say_node(t, p, i, 2);
        }
    }
    for (uint32_t i = 0; i < p->n_arcs; i++) {
        const tw_pic_arc_t *a = &p->arcs[i];
        if (numbers[i] > 0 && row_of(p, a->from) == row) {
            say_circle(t, a, numbers[i], true);
        }
        if (numbers[i] > 0 && row_of(p, a->to) == row) {
            say_circle(t, a, numbers[i], false);
        }
    }
    g_say(t, "  }\n");
}

static void say_body(g_text_t *t, const tw_pic_t *p, const inside_t *in, uint32_t *numbers)
{
    uint32_t n = 0;
    for (uint32_t row = 0; row < p->n_rows; row++) { /* numbers rise from row to row */
        for (uint32_t i = 0; i < p->n_arcs; i++) {
            if (crosses(p, &p->arcs[i]) && row_of(p, p->arcs[i].from) == row) {
                numbers[i] = ++n;
            }
        }
    }
    if (p->n_rows > 1) {
        for (uint32_t row = p->n_rows; row-- > 0;) { /* Graphviz stacks from below */
            say_row(t, p, row, numbers);
        }
    } else {
        for (uint32_t i = 0; i < p->n_ios; i++) {
            say_io(t, p, i);
        }
        say_scopes(t, p, in);
    }
    for (uint32_t i = 0; i < p->n_arcs; i++) {
        say_arc(t, p, &p->arcs[i], numbers[i]);
        if (numbers[i] > 0) {
            say_half(t, p, &p->arcs[i], numbers[i]);
        }
    }
}

char *tw_pic_dot(tw_pic_t *p)
{
    g_text_t t = {0};
    inside_t in = {0};
    uint32_t *numbers = calloc((size_t)p->n_arcs + 1, sizeof *numbers);
    if (numbers != NULL && sort_inside(&in, p) && tw_pic_fold(p)) {
        say_frame(&t, p);
        say_body(&t, p, &in, numbers);
        g_say(&t, "}\n");
    }
    free_inside(&in);
    free(numbers);
    return g_text_take(&t);
}
