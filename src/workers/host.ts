import type { Engine } from '../engine/engine.js'

/** What workers need of an engine. */
export type WorkersHost<Tx> = Pick<
  Engine<Tx>,
  'chores' | 'outbox' | 'inbox' | 'calls' | 'effects' | 'events' | 'log' | 'clock' | 'chance' | 'on' | 'open'
>
