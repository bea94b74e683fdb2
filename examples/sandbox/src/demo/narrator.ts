import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual, styleText } from 'node:util'

/** Tells what happens, and holds it against what is so. */
export interface Narrator {
  scene(title: string, about: string): Promise<void>
  /** Something that is done, and what came of it. */
  tell(what: string): Promise<void>
  /** A claim. One that is not so is counted, and shown with what is. */
  check(claim: string, found: unknown, expected: unknown): Promise<void>
  readonly untrue: number
  readonly checked: number
}

export interface Manner {
  /** Whether there are pauses for reading. */
  readonly pace: 'for reading' | 'fast'
  readonly colours: 'on' | 'off'
}

/** How long each kind of line is left alone. */
const pausesMs = { scene: 1_800, tell: 900, check: 1_100 }

type Colour = Parameters<typeof styleText>[0]

export function narrator({ pace, colours }: Manner, print: (line: string) => void): Narrator {
  const inColour = (colour: Colour, text: string) =>
    colours === 'on' ? styleText(colour, text, { validateStream: false }) : text
  const pause = (kind: keyof typeof pausesMs) =>
    pace === 'fast' ? Promise.resolve() : delay(pausesMs[kind]).then(() => undefined)
  let scenes = 0
  let untrue = 0
  let checked = 0
  return {
    async scene(title, about) {
      scenes += 1
      print(`\n${inColour('bold', `${scenes}. ${title}`)}`)
      print(inColour('dim', `   ${about}`))
      await pause('scene')
    },
    async tell(what) {
      print(`   ${inColour('cyan', '→')} ${what}`)
      await pause('tell')
    },
    async check(claim, found, expected) {
      checked += 1
      if (isDeepStrictEqual(found, expected)) {
        print(`   ${inColour('green', '✓')} ${claim}`)
        return pause('check')
      }
      untrue += 1
      print(`   ${inColour('red', '✗')} ${claim}`)
      print(`     ${inColour('red', `expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`)}`)
    },
    get untrue() {
      return untrue
    },
    get checked() {
      return checked
    },
  }
}
