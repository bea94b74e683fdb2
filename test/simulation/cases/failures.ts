import type { Failure, Program } from '../application.js'
import type { Mood } from '../moods.js'
import { type Case, late, order, pass, request, soon } from './case.js'

/** Its handler hides what has failed. */
const hushedUp = (program: Program, node = 0, afterMs?: number) => ({
  ...request(program, node, afterMs),
  order: { ...order, isHushedUp: true as const },
})

/** Its handler fails for as long as something is missing, and no longer. */
const failing = (program: Program, fails: Failure, node = 0, afterMs?: number) => ({
  ...request(program, node, afterMs),
  order: { ...order, fails },
})

/** Nobody ever mends it. */
const unmended = (program: Program, fails: Failure, afterMs?: number) => ({
  ...request(program, 0, afterMs),
  order: { ...order, fails, isUnmended: true as const },
})

/** Whoever is asked for it meets it so. */
const met = (program: Program, mood: Mood) => ({ ...request(program), order: { ...order, mood } })

/** Handlers that fail, also where their failures are answers, and those that hide that something has failed. */
export const failures: readonly Case[] = [
  {
    name: 'a handler that throws when its own call is made, against its retry and the sweeper, one crash',
    scenario: {
      requests: [failing('deposits', 'throws'), failing('deposits', 'throws', 1, late)],
      passes: [pass('sweeper', late)],
      faults: { crashes: 1 },
    },
    reaches: ['a handler that failed', 'a key that was claimed again'],
  },
  {
    name: 'a phased operation that answers with 503 against the resumer and a retry, one crash',
    scenario: {
      requests: [failing('rides', 'answers'), failing('rides', 'answers', 2, 45_000)],
      passes: [pass('resumer', late), pass('resumer', 45_000)],
      faults: { crashes: 1 },
    },
    reaches: ['a handler that failed', 'a key that was claimed again', 'a replay'],
  },
  {
    name: 'a request as one transaction that answers with 503 against its retry, one ambiguous commit',
    scenario: {
      requests: [failing('sales', 'answers'), failing('sales', 'answers', 1, 45_000)],
      faults: { breaks: 1 },
    },
    reaches: ['a handler that failed'],
  },
  {
    name: 'a handler that doubts its own work against its retry and an operator who answers for it, one crash',
    scenario: {
      requests: [failing('plain', 'doubts'), failing('plain', 'doubts', 1, late)],
      passes: [pass('sweeper', late)],
      operators: 1,
      operatorsAfterMs: late,
      faults: { crashes: 1 },
    },
    reaches: ['a handler that failed', 'a doubt that an operator ended'],
  },
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
  {
    name: 'a call behind which its handler throws each time, and nobody mends it, one crash',
    scenario: { requests: [unmended('transfers', 'throws')], faults: { crashes: 1 } },
    reaches: ['a handler that failed', 'work that was given up after too many attempts'],
  },
  {
    name: 'a phased operation that answers with 503 each time, and nobody mends it, against its retry',
    scenario: { requests: [unmended('rides', 'answers'), unmended('rides', 'answers', 45_000)], faults: {} },
    reaches: ['a handler that failed', 'work that was given up after too many attempts'],
  },
  {
    name: 'a call that ends whoever makes it, each time',
    scenario: { requests: [met('rides', 'ends who asks')], faults: { breaks: 1 } },
    reaches: ['work that was given up after too many attempts'],
  },
  {
    name: 'a call whose provider can never say what became of it, one broken line',
    scenario: {
      requests: [met('transfers', 'never says')],
      passes: [pass('reconciler', 20_000)],
      faults: { breaks: 1 },
    },
    reaches: ['a doubt', 'a doubt that was left to people after days'],
  },
  {
    name: 'a call whose provider never answers who asks what became of it, one broken line',
    scenario: {
      requests: [met('transfers', 'never answers')],
      passes: [pass('reconciler', 20_000)],
      faults: { breaks: 1 },
    },
    reaches: ['a doubt', 'a doubt that was left to people after days'],
  },
  {
    name: 'an effect whose provider can never say what became of it, one broken line',
    scenario: { requests: [met('sales', 'never says')], passes: [soon('effects')], faults: { breaks: 1 } },
    reaches: ['an effect in doubt', 'an effect in doubt that was left to people after days'],
  },
  {
    name: 'an effect whose provider never answers who asks what became of it, one broken line',
    scenario: { requests: [met('sales', 'never answers')], passes: [soon('effects')], faults: { breaks: 1 } },
    reaches: ['an effect in doubt', 'an effect in doubt that was left to people after days'],
  },
]
