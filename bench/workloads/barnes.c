/* SPDX-License-Identifier: MIT */
/*
 * What: gravity among many bodies by the method of Barnes and Hut. barnes [BODIES] [STEPS].
 *
 * Why this way: a program that allocates now and then and computes the rest of the time: bodies live to the end, the cells
 * of the tree live for one step. It shows what an allocator does to locality when it is hardly called.
 *
 * Invariants: the arithmetic is the same on every run (no fused or reordered operations), so the checksum of the
 * positions is exact.
 *
 * Concurrency: one thread.
 */
#include "common.h"

#include <math.h>
#include <string.h>

enum { DIMENSIONS = 3, CHILDREN = 8, DEEPEST = 60 };

static const double opening = 1.0;
static const double softening_squared = 0.0025;
static const double step_time = 0.025;

/* A body or a cell; a cell has children and the centre of the mass below it. */
struct node {
    double mass;
    double at[DIMENSIONS];
    int is_cell;
};

struct body {
    struct node node;
    double velocity[DIMENSIONS];
    double pull[DIMENSIONS];
};

struct cell {
    struct node node;
    struct node *child[CHILDREN];
};

/* A cube of space: its low corner and the length of its side. */
struct region {
    double corner[DIMENSIONS];
    double side;
};

static double random_unit(struct bench_random *random)
{
    return (double)bench_random_next(random) / 4294967296.0;
}

/* A point within the unit ball, thicker towards the middle. */
static struct body *body_new(struct bench_random *random, size_t bodies)
{
    struct body *body = bench_allocate_zeroed(1, sizeof *body);
    double length_squared = 0;
    body->node.mass = 1.0 / (double)bodies;
    do {
        length_squared = 0;
        for (int k = 0; k < DIMENSIONS; k++) {
            body->node.at[k] = 2.0 * random_unit(random) - 1.0;
            length_squared += body->node.at[k] * body->node.at[k];
        }
    } while (length_squared > 1.0);
    for (int k = 0; k < DIMENSIONS; k++) {
        body->node.at[k] *= length_squared;
        body->velocity[k] = 0.2 * (random_unit(random) - 0.5);
    }
    return body;
}

/* Which eighth of the region the point is in; the region shrinks to that eighth. */
static int region_descend(struct region *region, const double *at)
{
    int octant = 0;
    region->side /= 2;
    for (int k = 0; k < DIMENSIONS; k++) {
        if (at[k] >= region->corner[k] + region->side) {
            octant |= 1 << k;
            region->corner[k] += region->side;
        }
    }
    return octant;
}

static struct cell *cell_new(void)
{
    struct cell *cell = bench_allocate_zeroed(1, sizeof *cell);
    cell->node.is_cell = 1;
    return cell;
}

static void tree_insert(struct cell *root, struct region region, struct body *body)
{
    struct cell *cell = root;
    for (int depth = 0; depth < DEEPEST; depth++) {
        struct node **child = &cell->child[region_descend(&region, body->node.at)];
        if (*child == NULL) {
            *child = &body->node;
            return;
        }
        if (!(*child)->is_cell) {
            struct cell *deeper = cell_new();
            struct node *other = *child;
            struct region inner = region;
            deeper->child[region_descend(&inner, other->at)] = other;
            *child = &deeper->node;
        }
        cell = (struct cell *)*child;
    }
    bench_fail("barnes: two bodies in one place");
}

/* Sums up the mass and its centre from the leaves to the root. */
static void tree_weigh(struct cell *cell)
{
    double moment[DIMENSIONS] = { 0 };
    for (int i = 0; i < CHILDREN; i++) {
        struct node *child = cell->child[i];
        if (child == NULL) {
            continue;
        }
        if (child->is_cell) {
            tree_weigh((struct cell *)child);
        }
        cell->node.mass += child->mass;
        for (int k = 0; k < DIMENSIONS; k++) {
            moment[k] += child->mass * child->at[k];
        }
    }
    for (int k = 0; k < DIMENSIONS; k++) {
        cell->node.at[k] = moment[k] / cell->node.mass;
    }
}

static void tree_free(struct cell *cell)
{
    for (int i = 0; i < CHILDREN; i++) {
        if (cell->child[i] != NULL && cell->child[i]->is_cell) {
            tree_free((struct cell *)cell->child[i]);
        }
    }
    free(cell);
}

/* Adds the pull of a node on the body: as one mass if it is far enough for its side, else of its children. */
static void body_feel(struct body *body, const struct node *node, double side)
{
    double away[DIMENSIONS];
    double distance_squared = softening_squared;
    for (int k = 0; k < DIMENSIONS; k++) {
        away[k] = node->at[k] - body->node.at[k];
        distance_squared += away[k] * away[k];
    }
    if (node->is_cell && side * side > opening * opening * distance_squared) {
        const struct cell *cell = (const struct cell *)node;
        for (int i = 0; i < CHILDREN; i++) {
            if (cell->child[i] != NULL && cell->child[i] != &body->node) {
                body_feel(body, cell->child[i], side / 2);
            }
        }
        return;
    }
    double strength = node->mass / (distance_squared * sqrt(distance_squared));
    for (int k = 0; k < DIMENSIONS; k++) {
        body->pull[k] += strength * away[k];
    }
}

static struct region region_around(struct body *const *bodies, size_t count)
{
    double reach = 1.0;
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < DIMENSIONS; k++) {
            reach = fmax(reach, fabs(bodies[i]->node.at[k]) * 1.001);
        }
    }
    return (struct region){ { -reach, -reach, -reach }, 2 * reach };
}

static void step(struct body **bodies, size_t count)
{
    struct region region = region_around(bodies, count);
    struct cell *root = cell_new();
    for (size_t i = 0; i < count; i++) {
        tree_insert(root, region, bodies[i]);
    }
    tree_weigh(root);
    for (size_t i = 0; i < count; i++) {
        memset(bodies[i]->pull, 0, sizeof bodies[i]->pull);
        body_feel(bodies[i], &root->node, region.side);
    }
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < DIMENSIONS; k++) {
            bodies[i]->velocity[k] += step_time * bodies[i]->pull[k];
            bodies[i]->node.at[k] += step_time * bodies[i]->velocity[k];
        }
    }
    tree_free(root);
}

int main(int count, char **arguments)
{
    size_t bodies = bench_argument(count, arguments, 1, 16384);
    size_t steps = bench_argument(count, arguments, 2, 14);
    struct bench_random random = bench_random_seeded(123);
    struct body **all = bench_allocate(bodies * sizeof(struct body *));
    for (size_t i = 0; i < bodies; i++) {
        all[i] = body_new(&random, bodies);
    }
    for (size_t i = 0; i < steps; i++) {
        step(all, bodies);
    }
    uint64_t checksum = 0;
    for (size_t i = 0; i < bodies; i++) {
        uint64_t bits[DIMENSIONS];
        memcpy(bits, all[i]->node.at, sizeof bits);
        checksum = bench_mix(checksum ^ bits[0] ^ bits[1] << 1 ^ bits[2] << 2);
        free(all[i]);
    }
    free(all);
    return bench_finish("barnes", checksum);
}
