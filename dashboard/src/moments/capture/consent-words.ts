// What a person reads before a camera or a microphone is on: shown word for word, and stored with every
// package.

export interface ConsentAsked {
  readonly camera: boolean;
  readonly microphone: boolean;
  /** Where packages can go beside the companion's machine. */
  readonly bucket: string | null;
  /** They may go there. */
  readonly upload: boolean;
  /** They may be written out for training. */
  readonly export: boolean;
}

/** In paragraphs. */
export function consentWords(asked: ConsentAsked): readonly string[] {
  const { bucket, upload } = asked;
  const where =
    upload && bucket !== null
      ? `It is stored on the machine that the companion runs on, and in the bucket “${bucket}”, until somebody deletes it.`
      : "It is stored on the machine that the companion runs on, until somebody deletes it, and goes nowhere else.";
  return [
    "When you react to something I did, I keep the last two minutes of picture and sound with it.",
    `${sourcesInWords(asked)} switched on. What comes in stays in the companion's memory for two minutes, and is gone then unless somebody reacts.`,
    `What is kept: the words, ${mediaInWords(asked)} of those two minutes. ${where}`,
    asked.export ? "It may be written out for training." : "It is not written out for training.",
    "Switching off empties the memory at once. What was kept before stays, in Moments, where it can be deleted.",
  ];
}

/** "The camera is", "The camera and the microphone are". */
function sourcesInWords({ camera, microphone }: ConsentAsked): string {
  if (camera && microphone) return "The camera and the microphone are";
  return camera ? "The camera is" : "The microphone is";
}

function mediaInWords({ camera, microphone }: ConsentAsked): string {
  if (camera && microphone) return "the pictures and the sound";
  return camera ? "and the pictures" : "and the sound";
}
