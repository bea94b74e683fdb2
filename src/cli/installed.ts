/** What an optional package gives; `undefined` when it is not there. One that is there and cannot be loaded is said to be so. */
export async function installed<Module>(load: () => Promise<unknown>): Promise<Module | undefined> {
  try {
    return (await load()) as Module
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw error
  }
}
