def write(results, folder, definitions):
    return folder
