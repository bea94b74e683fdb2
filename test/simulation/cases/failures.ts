import type { Program } from '../application.js'
import { type Case, late, order, pass, request } from './case.js'

/** Its handler hides what has failed. */
const hushedUp = (program: Program, node = 0, afterMs?: number) => ({
  ...request(program, node, afterMs),
  order: { ...order, isHushedUp: true as const },
})

const failing = (program: Program, fails: 'throws' | 'answers', node = 0, afterMs?: number) => ({
  ...request(program, node, afterMs),
  order: { ...order, fails },
})

/** Handlers whose failures are answers, and those that hide that something has failed. */
export const failures: readonly Case[] = [
  {
    name: 'a commit that nobody heard of, whose handler fails in words of its own that are stored',
    scenario: { requests: [hushedUp('transfers')], onFailure: 'store', faults: { breaks: 2 } },
    reaches: ['a failure that is an answer'],
  },
  {
    name: 'a phase that nobody heard of, whose handler answers that there is nothing',
    scenario: { requests: [hushedUp('rides')], faults: { breaks: 2 } },
    reaches: [],
  },
  {
    name: 'a phased operation whose failure is stored against its retry and the resumer, one crash',
    scenario: {
      requests: [failing('rides', 'throws'), failing('rides', 'throws', 1, late)],
      passes: [pass('resumer', late, 2)],
      onFailure: 'store',
      faults: { crashes: 1 },
    },
    reaches: ['a failure that is an answer', 'a key that was claimed again', 'a replay'],
  },
  {
    name: 'a request as one transaction whose failure is stored against its duplicate, one ambiguous commit',
    scenario: {
      requests: [failing('sales', 'answers'), failing('sales', 'answers', 1)],
      onFailure: 'store',
      faults: { breaks: 1 },
    },
    reaches: ['a failure that is an answer', 'a replay'],
  },
  {
    name: 'a call whose handler fails and would give its key back against a retry, one broken line',
    scenario: {
      requests: [failing('letters', 'throws'), failing('letters', 'throws', 1, 45_000)],
      onFailure: 'release',
      faults: { breaks: 1 },
    },
    reaches: ['a handler that failed', 'a key that was claimed again'],
  },
]
