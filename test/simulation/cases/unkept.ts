import type { Program, Unkept } from '../application.js'
import type { Mood } from '../moods.js'
import { type Case, hour, order, pass, request, soon } from './case.js'

const notKept = (program: Program, how: Unkept, node = 0) => ({
  ...request(program, node),
  order: { ...order, unkept: how },
})

const mood: Mood = 'answers in no JSON'
const inNoJson = (program: Program) => ({ ...request(program), order: { ...order, mood } })

/** Answers and results that cannot be written down: what they stand for has happened, and happens once. */
export const unkept: readonly Case[] = [
  {
    name: 'three requests whose answer is too long to be kept, two of them at one node, one crash',
    scenario: {
      requests: [notKept('plain', 'too long'), notKept('plain', 'too long'), notKept('plain', 'too long', 1)],
      faults: { crashes: 1 },
    },
    reaches: ['an answer that was too long to be kept', 'a retry of what was not kept'],
  },
  {
    name: 'two requests as one transaction each, whose answer is too long to be kept, one crash, one ambiguous commit',
    scenario: {
      requests: [notKept('sales', 'too long'), notKept('sales', 'too long', 1)],
      faults: { crashes: 1, breaks: 1 },
    },
    reaches: ['an answer that was too long to be kept', 'a retry of what was not kept'],
  },
  {
    name: 'a phased operation whose answer is too long to be kept, and its retry, one ambiguous commit',
    scenario: { requests: [notKept('rides', 'too long'), notKept('rides', 'too long', 1)], faults: { breaks: 1 } },
    reaches: ['an answer that was too long to be kept', 'a retry of what was not kept'],
  },
  {
    name: 'a key that is used anew by a request whose answer is as long as the last one, which was not kept, one of them stopped',
    scenario: {
      requests: [notKept('plain', 'too long'), { ...notKept('plain', 'too long', 1), afterMs: 25 * hour }],
      faults: { freezes: 1 },
    },
    reaches: ['an answer that was too long to be kept', 'a key that was used anew'],
  },
  {
    name: 'two requests whose answer nobody can write down, one crash, one ambiguous commit',
    scenario: {
      requests: [notKept('plain', 'no JSON'), notKept('plain', 'no JSON', 1)],
      faults: { crashes: 1, breaks: 1 },
    },
    reaches: ['an answer that nobody could write down', 'a retry of what was not kept'],
  },
  {
    name: 'a phased operation whose answer nobody can write down against the resumer and a retry, one crash',
    scenario: {
      requests: [notKept('letters', 'no JSON'), notKept('letters', 'no JSON', 1)],
      passes: [pass('resumer', 31_000, 2)],
      faults: { crashes: 1 },
    },
    reaches: ['an answer that nobody could write down', 'a retry of what was not kept'],
  },
  {
    name: 'a call whose result cannot be kept against the reconciler and a retry, one broken line',
    scenario: {
      requests: [inNoJson('transfers'), { ...inNoJson('transfers'), nodes: [1], afterMs: 15_000 }],
      passes: [pass('reconciler', 15_000, 2)],
      faults: { breaks: 1 },
    },
    reaches: ['a call whose result could not be kept', 'a doubt that the reconciler ended'],
  },
  {
    name: 'an effect whose result cannot be kept against its reconciler and another worker, one broken line',
    scenario: {
      requests: [inNoJson('sales')],
      passes: [soon('effects'), pass('effects', 5_000, 2), pass('effectReconciler', 15_000)],
      faults: { breaks: 1 },
    },
    reaches: ['an effect whose result could not be kept', 'an effect whose doubt was ended'],
  },
]
