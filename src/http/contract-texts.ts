import type { FingerprintStrategy } from '../engine/fingerprint/strategy.js'
import type { Freshness } from '../engine/freshness.js'
import type { Concurrency, FailureMeaning, OnError, Policy } from '../engine/policy.js'
import type { KeySyntax } from './header.js'
import type { ReplayRule } from './profile.js'

/** What the words of a contract mean, in sentences for the people who write clients. */
export const texts = {
  syntax: {
    lenient:
      'Printable ASCII. With or without double quotes it is the same key; without them it holds no comma, quote or space.',
    string: 'A String of RFC 9651: printable ASCII in double quotes.',
    raw: 'Printable ASCII as it is, without a comma; quotes are part of the key.',
  } satisfies Record<KeySyntax, string>,

  compared: {
    whole: 'All of the body. JSON that means the same is the same, however it is spelled.',
    raw: 'All of the body, byte by byte.',
    fields: 'These fields of the body, and no others.',
    header: 'This header, which stands for the body.',
    own: 'What the API takes from the request.',
  } satisfies Record<FingerprintStrategy['kind'], string>,
  allButFields: 'All of the body but these fields.',
  noFields: 'Nothing of the body.',

  freshness: {
    key: 'By the time in its key, if that is a UUIDv7 or a ULID. A request made longer ago than answers are kept is refused.',
    header:
      'By this header, with the time of the first attempt. A request made longer ago than answers are kept is refused.',
  } satisfies Record<Freshness['by'], string>,

  expiry: {
    run: 'The same key runs again, as a new request.',
    refuse: 'The key is refused for as long as its first use is known.',
  } satisfies Record<Policy['onExpired'], string>,

  duplicates: {
    reject: 'While the first request runs, another one with its key is refused and told when to come back.',
    wait: 'While the first request runs, another one with its key waits for the answer, and is refused if there is none in time.',
    accept:
      'While the first request runs, another one with its key is told that it was accepted, and when to come back.',
  } satisfies Record<Concurrency, string>,

  answers:
    'An answer below 500 is kept and replayed, a refusal too. 408, 425 and 429 are not kept: the same key runs again. Nothing is kept of a request that was refused before it ran.',

  failures: {
    retry: 'An answer from 500 on is not kept: the same key runs again.',
    unknown: 'After an answer from 500 on nobody can know what happened: nothing runs again until that is settled.',
    store: 'An answer from 500 on is kept like any other, and replayed: the same key fails the same way.',
    store_answers:
      'An answer from 500 on is kept like any other, and replayed. A request that was interrupted runs again.',
    release: 'An answer from 500 on frees the key.',
    decided: 'Whether an answer from 500 on is kept is decided by the API, case by case.',
  } satisfies Record<FailureMeaning | OnError | 'decided', string>,

  crashes: {
    unknown: 'After a crash nobody can know what happened: nothing runs again until that is settled.',
    retry: 'After a crash the same key runs again.',
  } satisfies Record<Policy['onCrash'], string>,

  storeDown: {
    refuse: 'While keys cannot be recorded, requests are refused before anything ran.',
    run: 'While keys cannot be recorded, requests run without protection: a retry may run again.',
  } satisfies Record<'refuse' | 'run', string>,

  replay: {
    as_stored: 'The first answer: its status, its body byte for byte, and the headers that are carried.',
    current_state: 'How the resource is now, under this status. A failure is replayed as it was.',
  } satisfies Record<ReplayRule['kind'], string>,
} as const
