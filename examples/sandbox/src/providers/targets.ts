import { open, readFile, rename } from 'node:fs/promises'
import { Refusal } from './refusal.js'

/** Where events go. Kept on disk, so that what was not delivered finds its way after a restart. */
export interface Targets {
  of(provider: string): readonly string[]
  set(provider: string, urls: readonly string[]): Promise<void>
}

export async function openTargets(path: string): Promise<Targets> {
  let targets = await kept(path)
  let writing: Promise<void> = Promise.resolve()
  return {
    of: (provider) => targets[provider] ?? [],
    set(provider, urls) {
      targets = { ...targets, [provider]: urls }
      writing = writing.then(() => replace(path, JSON.stringify(targets)))
      return writing
    },
  }
}

export function urlsOf(sent: unknown): string[] {
  const isHttp = (url: unknown) => typeof url === 'string' && URL.canParse(url) && new URL(url).protocol === 'http:'
  if (Array.isArray(sent) && sent.length <= 10 && sent.every(isHttp)) return sent
  throw new Refusal(400, 'request_invalid', 'urls is a list of at most ten http:// addresses.')
}

type Kept = Readonly<Record<string, readonly string[]>>

async function kept(path: string): Promise<Kept> {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch {
    // They are set anew whenever an API starts.
    return {}
  }
}

async function replace(path: string, text: string): Promise<void> {
  const file = await open(`${path}.new`, 'w')
  await file.writeFile(text)
  await file.sync()
  await file.close()
  await rename(`${path}.new`, path)
}
