import type { Agenda } from './agenda.js'
import { type NodeContext, type SimulatedNode, startNode } from './node.js'
import type { Scenario } from './scenario.js'

/** The nodes of a world by their number. One that has crashed is started anew by whoever needs it. */
export interface Nodes {
  at(index: number): SimulatedNode
  /** Something of this name arrives at the node of that number, and begins there. */
  begins(index: number, words: string, begin: (node: SimulatedNode) => unknown): void
}

export function nodesOf(context: NodeContext, agenda: Agenda, loops: Scenario['loops']): Nodes {
  const nodes = new Map<number, SimulatedNode>()
  /** Of each node, how often it was started. */
  const starts = new Map<number, number>()

  function at(index: number): SimulatedNode {
    const known = nodes.get(index)
    if (known?.process.isAlive) return known
    const start = (starts.get(index) ?? 0) + 1
    starts.set(index, start)
    const name = start === 1 ? `node ${index + 1}` : `node ${index + 1}, start ${start}`
    const started = startNode(name, context)
    nodes.set(index, started)
    if (loops !== undefined) agenda.sometime(`the workers of ${name} begin`, () => started.startLoops(loops.workers))
    return started
  }

  return {
    at,
    begins(index, words, begin) {
      const found = at(index)
      context.world.hearing.arrives(found.process, words, () => void begin(found))
    },
  }
}
